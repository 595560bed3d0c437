/**
 * Reasoning of Claude. Models since 4.6 decide for themselves and take an effort. Older models take a budget, and are
 * recognized by `reasoning.max_tokens` among their supported parameters; those of 4.6 take either, and list
 * `reasoning.effort`, too (https://platform.claude.com/docs/en/build-with-claude/thinking). If a model's parameters are
 * unknown, the client's choice is better than a guess. Reasoning in the history is sent back only with Claude's own
 * signature.
 */
import type { InputItem, TurnRequest } from "../../../../turn/request.ts";
import { type JsonObject, objects, text } from "../../json.ts";
import { type TranslationContext, supportsParameter } from "../context.ts";
import { type ReasoningEffort, asksForSummary, lastEffort } from "../reasoning-effort.ts";
import type { Block, BlockMessage } from "./message-list.ts";

const minBudgetTokens = 1_024;
const maxBudgetTokens = 128_000;

/** Shares of the output limit that are the budgets of the efforts. */
const shares: Readonly<Record<string, number>> = {
  max: 0.95,
  xhigh: 0.95,
  high: 0.8,
  medium: 0.5,
  low: 0.2,
  minimal: 0.1,
};

export interface ReasoningLimits {
  /** Value of `max_tokens` in the body. */
  readonly limit: number;
  /** Whether the model must make a call. */
  readonly forced: boolean;
  /**
   * Whether the server lets a model decide about reasoning before a forced call. A budget together with a forced call
   * is not possible anywhere.
   */
  readonly adaptsWhenForced: boolean;
  readonly messages: readonly BlockMessage[];
}

export interface ThinkingSettings {
  /** Value of `thinking` in the body; absent when the model decides for itself. */
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

export function thinkingSettings(
  request: TurnRequest,
  translation: TranslationContext,
  around: ReasoningLimits,
): ThinkingSettings {
  const { summary, isSummaryImplied, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const { target, onDropped } = translation;
  if (context !== "auto") onDropped("reasoning.context", "the format has no field for it");
  if (mode !== "standard") onDropped("reasoning.mode", "the format has no field for it");
  const effort = lastEffort(request, translation);
  const settings: RequestedReasoning = { effort, maxTokens, summary, isSummaryImplied };
  // A client of the Messages API has chosen a form of reasoning for exactly this model.
  const chosen = target.supportedParameters === undefined && request.door === "messages";
  if (effort?.value === "none") return chosen ? { thinking: { type: "disabled" } } : unthinking(effort, translation);
  if (effort === undefined && maxTokens === undefined && !asksForSummary(summary)) return {};
  if (effort !== undefined && isEffortOnly(request)) return unasked(effort, translation);
  const takesEither = supportsParameter(target, "reasoning.effort");
  if (chosen || takesEither) {
    // If a budget is not possible now, the model may still decide about reasoning itself.
    const follows = maxTokens !== undefined && (chosen || unable(around) === undefined);
    return follows ? withEffort(settings, translation, around) : adaptive(settings, translation, around);
  }
  return supportsParameter(target, "reasoning.max_tokens")
    ? budgeted(settings, translation, around)
    : adaptive(settings, translation, around);
}

/**
 * Whether only an effort is requested, and no reasoning: in Anthropic's format an effort also concerns text and calls,
 * and a separate field requests reasoning.
 */
const isEffortOnly = ({ door, reasoning = {} }: TurnRequest): boolean =>
  door === "messages" && !reasoning.enabled && reasoning.maxTokens === undefined && reasoning.summary === undefined;

/** Settings for an effort without requested reasoning. */
function unasked(effort: ReasoningEffort, { target, onDropped }: TranslationContext): ThinkingSettings {
  const takesEffort =
    supportsParameter(target, "reasoning.effort") || !supportsParameter(target, "reasoning.max_tokens");
  if (takesEffort) return { effort: effort.value };
  onDropped(effort.path, "the model takes an effort only as a budget of thought, and no thought is asked for");
  return {};
}

/** Settings with a budget, for a model that also takes an effort. */
function withEffort(
  { effort, ...others }: RequestedReasoning,
  translation: TranslationContext,
  around: ReasoningLimits,
): ThinkingSettings {
  const settings = budgeted({ ...others, effort: undefined }, translation, around);
  return { ...settings, ...(effort && { effort: sentEffort(effort, translation) }) };
}

interface RequestedReasoning {
  readonly effort: ReasoningEffort | undefined;
  readonly maxTokens: number | undefined;
  readonly summary: string | undefined;
  readonly isSummaryImplied: true | undefined;
}

/** Settings without reasoning. Models differ in the form they take, and for many of them reasoning cannot be turned off. */
function unthinking(effort: ReasoningEffort, { target, onDropped }: TranslationContext): ThinkingSettings {
  const type = ["disabled", "between_tools"].find((form) => supportsParameter(target, `thinking.${form}`));
  if (type !== undefined) return { thinking: { type } };
  if (supportsParameter(target, "reasoning.max_tokens")) return {};
  onDropped(effort.path, "sent as low: the model always reasons");
  return { effort: "low" };
}

/** The effort to send; the format has none below low. */
function sentEffort({ value, path }: ReasoningEffort, { onDropped }: TranslationContext): string {
  if (value !== "minimal") return value;
  onDropped(path, "sent as low");
  return "low";
}

function adaptive(
  { effort, maxTokens, summary }: RequestedReasoning,
  translation: TranslationContext,
  { forced, adaptsWhenForced }: ReasoningLimits,
): ThinkingSettings {
  const { onDropped } = translation;
  const reasons = !forced || adaptsWhenForced;
  if (maxTokens !== undefined) onDropped("reasoning.max_tokens", "the endpoint takes no budget");
  if (!reasons) onDropped("reasoning", "the model cannot reason when it must make a call");
  return {
    ...(effort && { effort: sentEffort(effort, translation) }),
    ...(reasons && { thinking: { type: "adaptive", ...display(summary, translation) } }),
  };
}

function budgeted(
  settings: RequestedReasoning,
  translation: TranslationContext,
  around: ReasoningLimits,
): ThinkingSettings {
  const { onDropped } = translation;
  const { limit } = around;
  const { effort, maxTokens, summary, isSummaryImplied } = settings;
  if (effort === undefined && maxTokens === undefined) {
    onDropped("reasoning.summary", "the model does not reason unless it is asked to");
    return {};
  }
  if (effort && maxTokens !== undefined) onDropped(effort.path, "reasoning.max_tokens counts instead");
  const path = maxTokens === undefined ? (effort?.path ?? "reasoning") : "reasoning.max_tokens";
  const reason = unable(around);
  if (reason !== undefined) {
    onDropped(path, reason);
    return {};
  }
  const wanted = maxTokens ?? Math.floor(limit * (shares[effort?.value ?? "medium"] ?? 0.5));
  const budget = Math.min(limit - 1, maxBudgetTokens, Math.max(minBudgetTokens, wanted));
  if (maxTokens === undefined && effort?.value === "max") onDropped(path, "sent as xhigh");
  if (budget !== wanted) {
    const why = maxTokens === undefined ? "the model takes no smaller budget" : "it must fit into the output";
    onDropped(path, `sent as ${budget}: ${why}`);
  }
  const shown = isSummaryImplied ? {} : display(summary, translation);
  return { thinking: { type: "enabled", budget_tokens: budget, ...shown } };
}

/** Why a model that takes a budget cannot reason now. @returns undefined if it can */
function unable({ limit, forced, messages }: ReasoningLimits): string | undefined {
  if (forced) return "the model cannot reason when it must make a call";
  if (limit <= minBudgetTokens) return "max_output_tokens leaves no room for reasoning";
  const answered = messages.at(-1)?.content.some(({ type }) => type === "tool_result");
  const began = messages.at(-2)?.content[0]?.type ?? "";
  // Anthropic answers 400 when reasoning is on and the last call in the history has no reasoning before it.
  const without = answered === true && !began.endsWith("thinking");
  return without ? "the last call in the input has no reasoning" : undefined;
}

/** Settings for showing reasoning. Newer models show it only on request; older ones show it unless the request says omitted. */
function display(summary: string | undefined, { target, onDropped }: TranslationContext): JsonObject {
  if (summary === undefined) return {};
  if (summary === "omitted" || (summary === "updates" && supportsParameter(target, thinkingUpdates)))
    return { display: summary };
  if (summary !== "auto") onDropped("reasoning.summary", "there is only one kind of summary");
  return { display: "summarized" };
}

/** Parameter of endpoints whose models can show their notes between calls without their reasoning. */
export const thinkingUpdates = "thinking.updates";

/** The `format` of reasoning that Claude has signed. */
export const claudeReasoningFormat = "anthropic-claude-v1";

/** The block for reasoning. @returns undefined for reasoning to which the provider would answer 400 */
export function toThinkingBlock(item: InputItem): Block | undefined {
  if (item.format !== claudeReasoningFormat) return undefined;
  const signature = text(item.signature);
  const thinking = objects(item.content)
    .map((part) => text(part.text))
    .join("");
  // Models that hide their reasoning sign it, too.
  if (signature !== "") return { type: "thinking", thinking, signature };
  const data = text(item.encrypted_content);
  return data === "" ? undefined : { type: "redacted_thinking", data };
}
