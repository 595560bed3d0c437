/** Tools and the choice among them: as the client wrote them, in the spelling in which they were declared. */
import { membersOf, withMembers } from "@sluice/proto/runtime/validation/json-span.js";
import type { FunctionTool, HostedTool, NamespaceTool, Tool, ToolReference, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, Verbatim } from "../json.ts";
import { isVendor } from "./vendor.ts";

export function tools(request: TurnRequest, target: Target, lose: Lose): JsonObject {
  const declared = request.tools.some(isSent);
  if (!declared && !request.input.some((item) => item.type === "additional_tools")) return {};
  const vendor = isVendor(target);
  const json = request.tools.flatMap((tool, index) =>
    isSent(tool) ? [toolJson(tool, `tools.${index}`, vendor ? lose : undefined)] : [],
  );
  return {
    ...(declared && { tools: new Verbatim(`[${json.join(",")}]`) }),
    tool_choice: toolChoice(request),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

const isSent = (tool: Tool): boolean => tool.type !== "hosted" || !tool.leftOut;

/** @param lose given for the vendor only */
function toolJson(tool: Tool, path: string, lose: Lose | undefined): string {
  switch (tool.type) {
    case "function":
      return functionJson(tool, path, lose);
    case "custom":
      return lose && tool.async !== undefined ? without(tool.json, ["async"], path, lose) : tool.json;
    case "namespace":
      return namespaceJson(tool, path, lose);
    case "hosted":
      return lose && tool.kind.startsWith("web_search") ? searchJson(tool, path, lose) : tool.json;
  }
}

/** Strict when absent is true with the vendor of the format, and false for everybody else. */
function functionJson(tool: FunctionTool, path: string, lose: Lose | undefined): string {
  const json = lose && tool.async !== undefined ? without(tool.json, ["async"], path, lose) : tool.json;
  const strict = String(tool.strict ?? false);
  // Nearly every tool: no need to look for its members.
  if (!json.includes('"strict"')) return `${json.slice(0, json.lastIndexOf("}"))},"strict":${strict}}`;
  return withMembers(json, { strict });
}

function namespaceJson(namespace: NamespaceTool, path: string, lose: Lose | undefined): string {
  const inner = namespace.tools.map((tool, index) => toolJson(tool, `${path}.tools.${index}`, lose));
  return withMembers(namespace.json, { tools: `[${inner.join(",")}]` });
}

/** What the contract adds to the vendor's web search; the vendor takes allowed domains, a size and a place. */
const ofOtherSearches = ["engine", "max_results", "max_uses", "mode", "x_search"];

const searchJson = (tool: HostedTool, path: string, lose: Lose): string =>
  without(tool.json, ofOtherSearches, path, lose);

function without(json: string, names: readonly string[], path: string, lose: Lose): string {
  const present = membersOf(Buffer.from(json)).filter(({ key }) => names.includes(key));
  for (const { key } of present) lose(`${path}.${key}`, "the provider does not know it");
  return present.length === 0
    ? json
    : withMembers(json, Object.fromEntries(present.map(({ key }) => [key, undefined])));
}

function toolChoice({ toolChoice: choice, tools: declared }: TurnRequest): unknown {
  if (typeof choice !== "object") return choice;
  // The choice names the kind; the provider knows the tool by the type that it was sent.
  const reference = (to: ToolReference): ToolReference => {
    const hosted = declared.find((tool) => tool.type === "hosted" && tool.kind === to.type);
    return hosted?.type === "hosted" ? { ...to, type: hosted.spelling } : to;
  };
  if (choice.type === "tool") return reference(choice.tool);
  return { type: choice.type, mode: choice.mode, tools: choice.tools.map(reference) };
}
