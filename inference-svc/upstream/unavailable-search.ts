/**
 * Web search as a tool that an endpoint does not run (`tools.unavailable: drop` in the configuration file): programs such as Codex send
 * it with every request and cannot be told not to, so the request is sent without it.
 */
import type { InputItem, Tool, ToolChoice, TurnRequest } from "../turn/request.ts";
import type { Loss } from "../turn/scope.ts";
import { objects, text } from "./json.ts";
import { isWebSearch } from "./offered.ts";
import type { Destination, Provider } from "./provider.ts";

interface Shortened {
  readonly request: TurnRequest;
  readonly losses: readonly Loss[];
}

export interface SearchDropping extends Provider {
  /** Whether the endpoint can be sent the request only without its web search. */
  dropsSearch(destination: Destination, request: TurnRequest): boolean;
}

/** The same providers, which take requests with a web search that they do not run. */
export function droppingSearch<Base extends Provider>(providers: Base): Base & SearchDropping {
  const shortenedFor = (destination: Destination, request: TurnRequest): Shortened | undefined => {
    const shortened = withoutSearch(request);
    return shortened && providers.refusal(destination, request) ? shortened : undefined;
  };
  return {
    ...providers,
    dropsSearch: (destination, request) => shortenedFor(destination, request) !== undefined,
    refusal(destination, request) {
      const shortened = shortenedFor(destination, request);
      return providers.refusal(destination, shortened?.request ?? request);
    },
    losses(destination, request) {
      const { request: sent, losses } = shortenedFor(destination, request) ?? whole(request);
      return [...losses, ...providers.losses(destination, sent)];
    },
    told(destination, request) {
      const { request: sent, losses } = shortenedFor(destination, request) ?? whole(request);
      const told = providers.told(destination, sent);
      return { ...told, losses: [...losses, ...told.losses] };
    },
    turn(destination, patience) {
      const turn = providers.turn(destination, patience);
      return (request, scope) => {
        const { request: sent, losses } = shortenedFor(destination, request) ?? whole(request);
        scope.trace.losses.push(...losses);
        return turn(sent, scope);
      };
    },
  };
}

const whole = (request: TurnRequest): Shortened => ({ request, losses: [] });

const known = new WeakMap<TurnRequest, Shortened | "impossible">();

/** Undefined when the request has no web search, or its tool choice asks for one. Every endpoint of a model asks for the same request. */
function withoutSearch(request: TurnRequest): Shortened | undefined {
  if (!request.tools.some(isSearchTool) && !request.input.some(bringsSearch)) return undefined;
  let shortened = known.get(request);
  if (shortened === undefined) known.set(request, (shortened = shorten(request) ?? "impossible"));
  return shortened === "impossible" ? undefined : shortened;
}

function shorten(request: TurnRequest): Shortened | undefined {
  const losses: Loss[] = [];
  const lose = (path: string) => void losses.push({ path, reason: "no provider of this model runs it" });
  const tools = request.tools.map((tool, index): Tool => {
    if (tool.type !== "hosted" || !isSearchTool(tool)) return tool;
    lose(`tools.${index}`);
    return { ...tool, leftOut: true };
  });
  const input = request.input.map((item, index) =>
    bringsSearch(item) ? withoutBrought(item, `input.${index}`, lose) : item,
  );
  const { toolChoice: choice, parallelToolCalls, ...rest } = request;
  const isAnyLeft = tools.some((tool) => tool.type !== "hosted" || !tool.leftOut) || input.some(bringsTools);
  const left = choice === undefined ? "auto" : choiceLeft(choice, isAnyLeft);
  if (left === undefined) return undefined;
  // A choice among no tools is an error with most providers.
  if (!isAnyLeft) return { request: { ...rest, tools, input }, losses };
  const choices = { ...(choice !== undefined && { toolChoice: left }) };
  return {
    request: { ...rest, tools, input, ...choices, ...(parallelToolCalls !== undefined && { parallelToolCalls }) },
    losses,
  };
}

const isSearchTool = (tool: Tool): boolean => tool.type === "hosted" && isWebSearch(tool.kind);

const bringsTools = ({ type, tools }: InputItem): boolean => type === "additional_tools" && objects(tools).length > 0;

const bringsSearch = (item: InputItem): boolean =>
  item.type === "additional_tools" && objects(item["tools"]).some(({ type }) => isWebSearch(text(type)));

function withoutBrought(item: InputItem, path: string, lose: (path: string) => void): InputItem {
  const left = objects(item["tools"]).filter(({ type }, index) => {
    const isSearch = isWebSearch(text(type));
    if (isSearch) lose(`${path}.tools.${index}`);
    return !isSearch;
  });
  return { ...item, tools: left };
}

/** Undefined when what was chosen cannot be chosen any more. */
function choiceLeft(choice: ToolChoice, isAnyLeft: boolean): ToolChoice | undefined {
  if (typeof choice === "string") return choice === "required" && !isAnyLeft ? undefined : choice;
  if (choice.type === "tool") return isWebSearch(choice.tool.type) ? undefined : choice;
  const tools = choice.tools.filter(({ type }) => !isWebSearch(type));
  return tools.length === 0 ? undefined : { ...choice, tools };
}
