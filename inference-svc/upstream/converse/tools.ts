/** Tools and the choice among them (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html). */
import type { TurnRequest } from "../../turn/request.ts";
import type { JsonObject } from "../json.ts";
import type { Block, Message } from "../messages/thread.ts";
import { schemaOf, toolChoice } from "../messages/tools.ts";
import { declareUnread, describe, wrapping } from "../told-tool.ts";
import type { SentTool } from "../tool-names.ts";
import { type Words, supports } from "../words.ts";
import type { Family } from "./family.ts";

export function converseTools({ tools, lose, target }: Words): readonly Block[] {
  for (const path of tools.searches) lose(path, "all tools are there from the beginning: there is nothing to search");
  return tools.list.map((tool) => toolBlock(tool, { tools, lose, target }));
}

function toolBlock(offered: SentTool, { target, lose }: Words): Block {
  const { path, tool, sentName } = offered;
  declareUnread(tool, path, lose);
  const json = tool.type === "function" ? schemaOf(tool.parametersJson) : wrapping(tool, path, lose);
  const asked = tool.type === "function" && tool.strict === true;
  const strict = asked && supports(target, "structured_outputs");
  if (asked && !strict) lose(`${path}.strict`, "the endpoint is not known to hold calls to their schema");
  // Nothing may be blank there.
  const description = describe(offered)?.trim() ? { description: describe(offered) } : {};
  const toolSpec = { name: sentName, ...description, inputSchema: { json }, ...(strict && { strict }) };
  return { type: "tool", toolSpec };
}

/** Calls in the conversation need a tool each beside them, whether they may be made again or not. */
export function calledTools(messages: readonly Message[]): readonly Block[] {
  const calls = messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_use");
  const names = [...new Set(calls.map(({ name }) => name))];
  return names.map((name) => ({
    type: "tool",
    toolSpec: { name, inputSchema: { json: { type: "object" } } },
  }));
}

export interface Choice {
  readonly toolChoice?: JsonObject;
  /** What only the family of the format's first models can be told, in its own words. */
  readonly tool_choice?: JsonObject;
}

/** The format can neither forbid calls nor limit them to one; both sides may not speak of the choice. */
export function choiceOf(request: TurnRequest, family: Family, words: Words): Choice {
  const choice = toolChoice(request, words);
  if (choice === undefined) return {};
  const { type, name, disable_parallel_tool_use: single } = choice;
  if (family === "anthropic" && (type === "none" || single === true)) return { tool_choice: choice };
  if (single === true) words.lose("parallel_tool_calls", "the format has no words for it");
  if (type === "none") words.lose("tool_choice", "tools that were called have to be there, and may be called again");
  if (type === "tool") return { toolChoice: { tool: { name } } };
  return type === "any" || type === "auto" ? { toolChoice: { [type]: {} } } : {};
}
