/** Tools and the choice among them in the words of chat. */
import type { CustomTool, FunctionTool, ToolChoice, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, Verbatim, arrayJson, isObject, objectJson, text } from "../json.ts";
import { refersTo } from "../offered.ts";
import type { ChatTool } from "./tool-names.ts";
import type { Words } from "./words.ts";

export function toolSettings(request: TurnRequest, words: Words): JsonObject {
  const { list, searches } = words.tools;
  for (const path of searches) words.lose(path, "all tools are there from the beginning: there is nothing to search");
  if (list.length === 0) return {};
  return {
    tools: arrayJson(list.map((tool) => chatTool(tool, words))),
    ...(request.toolChoice !== undefined && { tool_choice: toolChoice(request.toolChoice, words) }),
    parallel_tool_calls: request.parallelToolCalls,
  };
}

function chatTool(offered: ChatTool, { lose }: Words): JsonObject {
  const { path, tool, sentName, wrapped } = offered;
  if (tool.async === true) lose(`${path}.async`, "calls are answered in their turn");
  declareUnread(tool, path, lose);
  const head = { name: sentName, description: describe(offered) };
  if (tool.type === "function") {
    const parameters = tool.parametersJson === "null" ? undefined : new Verbatim(tool.parametersJson);
    return functionOf({ ...head, parameters, strict: tool.strict });
  }
  const format = formatOf(tool);
  if (!wrapped) return { type: "custom", custom: { ...head, format: nativeFormat(format) } };
  if (format?.type === "grammar")
    lose(`${path}.format`, "the model is told of the grammar, but nothing holds it to it");
  return functionOf({ ...head, parameters: wrapping(format) });
}

const functionOf = (fields: JsonObject): JsonObject => ({
  type: "function",
  function: new Verbatim(objectJson(fields)),
});

/** Fields that hardly a tool has. */
const unread: Readonly<Record<string, string>> = {
  defer_loading: "the tool is there from the beginning",
  allowed_callers: "chat has no words for it",
  output_schema: "chat has no words for it",
};

function declareUnread(tool: FunctionTool | CustomTool, path: string, lose: Words["lose"]): void {
  for (const [field, reason] of Object.entries(unread)) {
    // The text is searched before it is read.
    if (!tool.json.includes(`"${field}"`)) continue;
    const value = (JSON.parse(tool.json) as JsonObject)[field];
    if (value !== undefined && value !== null && value !== false) lose(`${path}.${field}`, reason);
  }
}

/** What is common to the tools of a namespace is said with each of them. */
function describe({ tool, namespace }: ChatTool): string | undefined {
  const common = namespace && `Part of ${namespace.name}: ${namespace.description}`;
  return common && tool.description !== undefined ? `${common}\n${tool.description}` : (common ?? tool.description);
}

function formatOf(tool: CustomTool): JsonObject | undefined {
  const format: unknown = tool.formatJson === undefined ? undefined : JSON.parse(tool.formatJson);
  return isObject(format) ? format : undefined;
}

const nativeFormat = (format: JsonObject | undefined): JsonObject | undefined =>
  format?.type === "grammar"
    ? { type: "grammar", grammar: { syntax: format.syntax, definition: format.definition } }
    : format;

/** A function that takes the text as its only parameter. */
function wrapping(format: JsonObject | undefined): JsonObject {
  const grammar = `The text must match this ${text(format?.syntax)} grammar:\n${text(format?.definition)}`;
  const input = { type: "string", ...(format?.type === "grammar" && { description: grammar }) };
  return { type: "object", properties: { input }, required: ["input"], additionalProperties: false };
}

function toolChoice(choice: ToolChoice, { tools }: Words): unknown {
  if (typeof choice === "string") return choice;
  // The other tools are not sent: a limit that nobody can overstep.
  if (choice.type === "allowed_tools") return choice.mode;
  if (choice.tool.type === "namespace") return "required";
  const chosen = tools.list.find(({ tool, namespace }) => refersTo(choice.tool, tool, namespace?.name));
  const name = chosen?.sentName ?? choice.tool.name;
  return chosen?.tool.type === "custom" && !chosen.wrapped
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } };
}
