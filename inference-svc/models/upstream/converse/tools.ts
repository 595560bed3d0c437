/**
 * Converts tools and the tool choice for Converse
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html).
 */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import type { JsonObject } from "../json.ts";
import type { Block, BlockMessage } from "../translate/blocks/message-list.ts";
import { toolChoice } from "../translate/blocks/tools.ts";
import { converseSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { dropToolFields, describeTool, buildWrapperSchema } from "../translate/tool-description.ts";
import { WeakCache } from "../translate/weak-cache.ts";
import type { SentTool, SentTools } from "../translate/names/tool-names.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import type { Family } from "./family.ts";

export function converseTools({ tools, onDropped, target }: TranslationContext): readonly Block[] {
  for (const path of tools.searches) onDropped(path, "all tools are sent, so there is nothing to search");
  const declared = supportsParameter(target, "structured_outputs") ? strictTools : otherTools;
  // Cache marks are set on these blocks, so each body needs copies of them.
  return declared.of(tools, onDropped).map((block) => ({ ...block }));
}

const strictTools = new WeakCache(({ list }: SentTools, onDropped) =>
  list.map((tool) => toolBlock(tool, true, onDropped)),
);
const otherTools = new WeakCache(({ list }: SentTools, onDropped) =>
  list.map((tool) => toolBlock(tool, false, onDropped)),
);

/** @param enforces whether the endpoint can make calls follow the tools' schemas */
function toolBlock(offered: SentTool, enforces: boolean, onDropped: OnDropped): Block {
  const { path, tool, sentName } = offered;
  dropToolFields(offered, onDropped, { takesMarks: true });
  const { schema: json, strict } =
    tool.type === "function"
      ? sendTool(tool, path, converseSchemas, onDropped, enforces)
      : { schema: buildWrapperSchema(tool, path, onDropped), strict: false };
  if (tool.type === "function" && tool.strict === true && !enforces)
    onDropped(`${path}.strict`, "the endpoint is not known to enforce the schemas of calls");
  // Bedrock answers 400 to a blank description.
  const description = describeTool(offered)?.trim() ? { description: describeTool(offered) } : {};
  const toolSpec = { name: sentName, ...description, inputSchema: { json }, ...(strict && { strict }) };
  return { type: "tool", toolSpec };
}

/** Declarations of the tools called in the history, which Bedrock requires. */
export function calledTools(messages: readonly BlockMessage[]): readonly Block[] {
  const calls = messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_use");
  const names = [...new Set(calls.map(({ name }) => name))];
  return names.map((name) => ({
    type: "tool",
    toolSpec: { name, inputSchema: { json: { type: "object" } } },
  }));
}

export interface ConverseToolChoice {
  readonly toolChoice?: JsonObject;
  /** The tool choice in Claude's own form, which only Claude models accept. */
  readonly tool_choice?: JsonObject;
}

/** Builds the tool choice. Converse can neither forbid calls nor limit them to one; Claude's own form can, and takes the place of Converse's. */
export function buildToolChoice(
  request: TurnRequest,
  family: Family,
  translation: TranslationContext,
): ConverseToolChoice {
  const choice = toolChoice(request, translation);
  if (choice === undefined) return {};
  const { type, name, disable_parallel_tool_use: single } = choice;
  if (family === "anthropic" && (type === "none" || single === true)) return { tool_choice: choice };
  if (single === true) translation.onDropped("parallel_tool_calls", "the format has no field for it");
  if (type === "none")
    translation.onDropped(
      "tool_choice",
      "the format requires the tools that the history calls, and cannot forbid calls of them",
    );
  if (type === "tool") return { toolChoice: { tool: { name } } };
  return type === "any" || type === "auto" ? { toolChoice: { [type]: {} } } : {};
}
