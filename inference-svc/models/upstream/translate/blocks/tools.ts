/** Schemas of tools and the tool choice, for formats made of blocks. */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { JsonObject } from "../../json.ts";
import { type TranslationContext, supportsParameter } from "../context.ts";
import { isWebSearch, refersTo } from "../offered-tools.ts";

/** Name of Anthropic's own web search, in its declaration and in its calls. */
export const webSearchName = "web_search";
export const webFetchName = "web_fetch";
/** Name of Anthropic's own code execution. */
export const codeExecutionName = "code_execution";

export function toolChoice(request: TurnRequest, translation: TranslationContext): JsonObject | undefined {
  const choice = chosen(request, translation);
  const single = request.parallelToolCalls === false && choice?.type !== "none";
  return single ? { type: "auto", ...choice, disable_parallel_tool_use: true } : choice;
}

const auto: JsonObject = { type: "auto" };

function chosen(
  { toolChoice: choice }: TurnRequest,
  { tools, target, onDropped }: TranslationContext,
): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (choice === "none") return { type: "none" };
  if (choice === "auto") return auto;
  // Tools the choice excludes are not sent at all.
  if (typeof choice === "object" && choice.type === "allowed_tools" && choice.mode === "auto") return auto;
  if (target.supportedParameters && !supportsParameter(target, "tool_choice")) {
    onDropped("tool_choice", "the model cannot be made to call a tool");
    return auto;
  }
  if (typeof choice !== "object" || choice.type !== "tool" || choice.tool.type === "namespace") return { type: "any" };
  if (isWebSearch(choice.tool.type)) return { type: "tool", name: webSearchName };
  if (choice.tool.type === "code_interpreter") return { type: "tool", name: codeExecutionName };
  const { tool: reference } = choice;
  const named = tools.list.find(({ tool, namespace }) => refersTo(reference, tool, namespace?.name));
  return { type: "tool", name: named?.sentName ?? reference.name };
}
