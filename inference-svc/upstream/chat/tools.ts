/** Tools and the choice among them in the words of chat. */
import type { ToolChoice, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, Verbatim, arrayJson, objectJson } from "../json.ts";
import { refersTo } from "../offered.ts";
import { declareUnread, describe, formatOf, wrapping } from "../told-tool.ts";
import type { SentTool } from "../tool-names.ts";
import type { Words } from "../words.ts";

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

function chatTool(offered: SentTool, { lose }: Words): JsonObject {
  const { path, tool, sentName, wrapped } = offered;
  declareUnread(tool, path, lose);
  const head = { name: sentName, description: describe(offered) };
  if (tool.type === "function") {
    const parameters = tool.parametersJson === "null" ? undefined : new Verbatim(tool.parametersJson);
    return functionOf({ ...head, parameters, strict: tool.strict });
  }
  if (!wrapped) return { type: "custom", custom: { ...head, format: nativeFormat(formatOf(tool)) } };
  return functionOf({ ...head, parameters: wrapping(tool, path, lose) });
}

const functionOf = (fields: JsonObject): JsonObject => ({
  type: "function",
  function: new Verbatim(objectJson(fields)),
});

const nativeFormat = (format: JsonObject | undefined): JsonObject | undefined =>
  format?.type === "grammar"
    ? { type: "grammar", grammar: { syntax: format.syntax, definition: format.definition } }
    : format;

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
