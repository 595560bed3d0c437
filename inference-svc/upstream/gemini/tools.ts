/** Functions and the choice among them in the words of the format (https://ai.google.dev/gemini-api/docs/function-calling). */
import type { ToolChoice, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, Verbatim } from "../json.ts";
import { refersTo } from "../offered.ts";
import { declareUnread, describe, wrapping } from "../told-tool.ts";
import type { SentTool } from "../tool-names.ts";
import type { Words } from "../words.ts";
import { nativeTools } from "./native.ts";

export interface ToolSettings {
  readonly tools?: readonly JsonObject[];
  readonly toolConfig?: JsonObject;
}

export function toolSettings(request: TurnRequest, words: Words): ToolSettings {
  const { list, searches } = words.tools;
  for (const path of searches) words.lose(path, "all tools are there from the beginning: there is nothing to search");
  const native = nativeTools(request, words.lose);
  if (list.length === 0) {
    if (native.length === 0) return {};
    if (isForced(request.toolChoice)) words.lose("tool_choice", "the provider searches as it sees fit");
    return { tools: native };
  }
  if (request.parallelToolCalls === false) {
    words.lose("parallel_tool_calls", "the format has no words for it: there may be several calls");
  }
  const calling = callingConfig(request, words);
  return {
    tools: [{ functionDeclarations: list.map((tool) => declaration(tool, words)) }],
    ...(calling && { toolConfig: { functionCallingConfig: calling } }),
  };
}

function declaration(offered: SentTool, { lose }: Words): JsonObject {
  const { path, tool, sentName } = offered;
  declareUnread(tool, path, lose);
  const schema = tool.type === "function" ? schemaOf(tool.parametersJson) : wrapping(tool, path, lose);
  return { name: sentName, description: describe(offered), parametersJsonSchema: schema };
}

/** A function without parameters goes without a schema. */
const schemaOf = (json: string): Verbatim | undefined => (json === "null" ? undefined : new Verbatim(json));

const isForced = (choice: ToolChoice | undefined): boolean =>
  choice === "required" || (typeof choice === "object" && (choice.type === "tool" || choice.mode === "required"));

/** Absent when the model is left to itself. */
function callingConfig({ toolChoice: choice }: TurnRequest, { tools }: Words): JsonObject | undefined {
  if (choice === "none") return { mode: "NONE" };
  if (!isForced(choice)) return free(tools.list);
  // What is not allowed is not sent: of the functions that are, any will do.
  if (typeof choice !== "object" || choice.type !== "tool" || choice.tool.type === "namespace") return { mode: "ANY" };
  const { tool: reference } = choice;
  const named = tools.list.find(({ tool, namespace }) => refersTo(reference, tool, namespace?.name));
  return { mode: "ANY", allowedFunctionNames: [named?.sentName ?? reference.name] };
}

/** Only by this name is the model held to the schemas while it may say something else. */
const free = (tools: readonly SentTool[]): JsonObject | undefined =>
  tools.some(({ tool }) => tool.type === "function" && tool.strict === true) ? { mode: "VALIDATED" } : undefined;
