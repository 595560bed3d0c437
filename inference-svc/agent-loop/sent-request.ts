/** Converts the tools of a request to the form sent to providers. */
import type { Tool, ToolChoice, ToolReference, TurnRequest } from "../turn/request.ts";
import type { Offers } from "./opened-tools.ts";
import { describeAsFunction } from "./tool.ts";

/** The request for providers: functions instead of server tools, without settings that only Sluice supports. */
export function toProviderRequest(request: TurnRequest, offers: Offers): TurnRequest {
  const adapted = withFunctions(request, offers);
  return [...offers.values()].flat().reduce((sofar, { open }) => open.adaptRequest?.(sofar) ?? sofar, adapted);
}

function withFunctions(request: TurnRequest, offers: Offers): TurnRequest {
  if (offers.size === 0) return request;
  const tools = request.tools.flatMap((tool): Tool[] => {
    if (tool.type !== "hosted" || !offers.has(tool)) return [tool];
    return (offers.get(tool) ?? []).map(({ name, open }) => describeAsFunction(name, open));
  });
  const { maxToolCalls: _, stopServerToolsWhen: __, toolChoice, ...rest } = request;
  // The limit for tools run by the provider itself stays in the request.
  const limited = request.maxToolCalls !== undefined && tools.some(({ type }) => type === "hosted");
  // Providers reject a tool choice in a request without tools, as is left over when the list of a tool source fails.
  const isAny = tools.length > 0 || request.input.some(({ type }) => type === "additional_tools");
  const choice = toolChoice === undefined || !isAny ? undefined : toProviderToolChoice(toolChoice, offers);
  return {
    ...rest,
    tools,
    ...(limited && { maxToolCalls: request.maxToolCalls }),
    ...(choice !== undefined && { toolChoice: choice }),
  };
}

/** @returns undefined when no tool is left to choose */
function toProviderToolChoice(choice: ToolChoice, offers: Offers): ToolChoice | undefined {
  if (typeof choice === "string") return choice;
  const toProviderName = (reference: ToolReference): ToolReference[] => {
    const entries = [...offers].filter(([{ kind }]) => kind === reference.type).map(([, made]) => made);
    if (entries.length === 0) return [reference];
    const [first = []] = entries;
    const isOfSource = entries.some((made) => made.some(({ isMeant }) => isMeant !== undefined));
    const meant = isOfSource ? entries.flat().filter(({ isMeant }) => isMeant?.(reference)) : first;
    return meant.map(({ name }) => ({ type: "function", name }));
  };
  if (choice.type === "allowed_tools") {
    const tools = choice.tools.flatMap(toProviderName);
    return tools.length === 0 && choice.tools.length > 0 ? "none" : { ...choice, tools };
  }
  const tools = toProviderName(choice.tool);
  const [tool] = tools;
  if (tools.length > 1) return { type: "allowed_tools", mode: "required", tools };
  return tool && { ...choice, tool };
}
