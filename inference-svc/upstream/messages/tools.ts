/** Tools and the choice among them in the words of the format. */
import type { TurnRequest } from "../../turn/request.ts";
import { type JsonObject, Verbatim } from "../json.ts";
import { isSearch, isWebSearch, offeredTools, refersTo } from "../offered.ts";
import { declareUnread, describe, wrapping } from "../told-tool.ts";
import type { SentTool } from "../tool-names.ts";
import { type Words, supports } from "../words.ts";
import type { Block } from "./thread.ts";
import { webSearchName, webSearchTool } from "./web-search.ts";

export function messagesTools(request: TurnRequest, words: Words): readonly Block[] {
  const { list, searches } = words.tools;
  for (const path of searches) words.lose(path, "all tools are there from the beginning: there is nothing to search");
  const hosted = offeredTools(request).find(
    ({ tool, allowed }) => tool.type === "hosted" && allowed && !isSearch(tool),
  );
  const search = hosted?.tool.type === "hosted" ? [webSearchTool(hosted.tool, hosted.path, words.lose)] : [];
  return [...list.map((tool) => functionTool(tool, words)), ...search];
}

/** Without a type of its own: that of a function is the default. */
function functionTool(offered: SentTool, { lose }: Words): Block {
  const { path, tool, sentName } = offered;
  declareUnread(tool, path, lose);
  const schema = tool.type === "function" ? schemaOf(tool.parametersJson) : wrapping(tool, path, lose);
  const strict = tool.type === "function" && tool.strict === true ? { strict: true } : {};
  const fields: JsonObject = { name: sentName, description: describe(offered), input_schema: schema, ...strict };
  return fields as Block;
}

/** The type is required there, and nearly always written. */
export function schemaOf(json: string): unknown {
  if (json === "null") return { type: "object" };
  const written = JSON.parse(json) as JsonObject;
  if (written.type !== undefined) return new Verbatim(json);
  const members = json.slice(json.indexOf("{") + 1);
  return new Verbatim(`{"type":"object"${Object.keys(written).length > 0 ? "," : ""}${members}`);
}

export function toolChoice(request: TurnRequest, words: Words): JsonObject | undefined {
  const choice = chosen(request, words);
  const single = request.parallelToolCalls === false && choice?.type !== "none";
  return single ? { type: "auto", ...choice, disable_parallel_tool_use: true } : choice;
}

const auto: JsonObject = { type: "auto" };

function chosen({ toolChoice: choice }: TurnRequest, { tools, target, lose }: Words): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (choice === "none") return { type: "none" };
  if (choice === "auto") return auto;
  // The other tools are not sent: a limit that nobody can overstep.
  if (typeof choice === "object" && choice.type === "allowed_tools" && choice.mode === "auto") return auto;
  if (target.supportedParameters && !supports(target, "tool_choice")) {
    lose("tool_choice", "the model cannot be made to call a tool");
    return auto;
  }
  if (typeof choice !== "object" || choice.type !== "tool" || choice.tool.type === "namespace") return { type: "any" };
  if (isWebSearch(choice.tool.type)) return { type: "tool", name: webSearchName };
  const { tool: reference } = choice;
  const named = tools.list.find(({ tool, namespace }) => refersTo(reference, tool, namespace?.name));
  return { type: "tool", name: named?.sentName ?? reference.name };
}
