/**
 * Reasoning settings: a budget for Gemini 2.5, a level for later models, some of which also take a budget
 * (https://ai.google.dev/gemini-api/docs/generate-content/thinking). The reasoning models show is a summary. Signed
 * reasoning is sent back as only its signature, without its text
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { type ReasoningEffort, asksForSummary, lastEffort } from "../translate/reasoning-effort.ts";
import type { Content } from "./message-list.ts";

export function thinkingConfig(request: TurnRequest, translation: TranslationContext): JsonObject | undefined {
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const { target, onDropped } = translation;
  if (context !== "auto") onDropped("reasoning.context", "the format has no field for it");
  if (mode !== "standard") onDropped("reasoning.mode", "the format has no field for it");
  const effort = lastEffort(request, translation);
  if (effort === undefined && maxTokens === undefined && !asksForSummary(summary)) return undefined;
  if (asksForSummary(summary) && summary !== "auto")
    onDropped("reasoning.summary", "there is only one kind of summary");
  const amount = takesBudget(target, maxTokens)
    ? budget(effort, maxTokens, translation)
    : level(effort, maxTokens, translation);
  return effort?.value === "none" || summary === "omitted" ? amount : { ...amount, includeThoughts: true };
}

const levels: Readonly<Record<string, string>> = {
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

function level(
  effort: ReasoningEffort | undefined,
  maxTokens: number | undefined,
  { target, onDropped }: TranslationContext,
): JsonObject {
  if (maxTokens !== undefined) onDropped("reasoning.max_tokens", "the endpoint takes no budget");
  if (!effort) return {};
  // Some models take the level "minimal", and reasoning cannot be turned off for any of them.
  const min = supportsParameter(target, "thinking.minimal") ? "MINIMAL" : "LOW";
  const thinkingLevel = levels[effort.value] ?? min;
  if (thinkingLevel.toLowerCase() !== effort.value) onDropped(effort.path, `sent as ${thinkingLevel.toLowerCase()}`);
  return { thinkingLevel };
}

/** Budgets in tokens by effort, Google's own mapping (https://ai.google.dev/gemini-api/docs/openai#thinking). */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

interface Bounds {
  readonly min: number;
  readonly max: number;
  /** Whether reasoning can be turned off. */
  readonly stops: boolean;
}

function boundsOf(model: string): Bounds {
  if (model.includes("-pro")) return { min: 128, max: 32_768, stops: false };
  return { min: model.includes("-lite") ? 512 : 1, max: 24_576, stops: true };
}

function budget(
  effort: ReasoningEffort | undefined,
  maxTokens: number | undefined,
  { target, onDropped }: TranslationContext,
): JsonObject {
  const wanted = maxTokens ?? budgets[effort?.value ?? ""];
  if (wanted === undefined) return {};
  const { min, max, stops } = boundsOf(target.upstreamModel);
  const thinkingBudget = wanted === 0 && stops ? 0 : Math.min(max, Math.max(min, wanted));
  if (effort && maxTokens !== undefined) onDropped(effort.path, "reasoning.max_tokens counts instead");
  else if (effort?.value === "xhigh" || effort?.value === "max") onDropped(effort.path, "sent as high");
  else if (effort?.value === "minimal") onDropped(effort.path, "sent as low");
  if (thinkingBudget !== wanted) {
    const path = maxTokens === undefined ? (effort?.path ?? "reasoning") : "reasoning.max_tokens";
    onDropped(path, `sent as a budget of ${thinkingBudget}: the model takes ${min} to ${max}`);
  }
  return { thinkingBudget };
}

/** The `format` of reasoning that Gemini has signed. */
export const geminiReasoningFormat = "google-gemini-v1";

/** The signature of a reasoning item; empty for reasoning that Gemini cannot read. */
export const findSignature = (item: InputItem): string =>
  item.format === geminiReasoningFormat ? text(item.signature) || text(item.encrypted_content) : "";

/** Google's placeholder signature for calls of other models. */
const unsigned = "skip_thought_signature_validator";

/** Signs calls in the history: the first of several parallel calls needs a signature. */
export function signCalls(contents: readonly Content[], target: Target): readonly Content[] {
  if (!wantsSignatures(target)) return contents;
  return contents.map((content) => {
    const first = content.parts.findIndex((part) => isObject(part.functionCall));
    const call = content.parts[first];
    if (call === undefined || call.thoughtSignature !== undefined) return content;
    const signed: JsonObject = { ...call, thoughtSignature: unsigned };
    return { ...content, parts: content.parts.with(first, signed) };
  });
}

const budgeted = /(^|\/)gemini-2\.5-/;

/**
 * Whether the model gets a budget. Gemini 2.5 takes a budget and answers 400 to a level. Later models take a level, and
 * a budget only if the endpoint's parameters name both.
 */
function takesBudget(target: Target, maxTokens: number | undefined): boolean {
  if (budgeted.test(target.upstreamModel)) return true;
  return (
    supportsParameter(target, "reasoning.max_tokens") &&
    (maxTokens !== undefined || !supportsParameter(target, "reasoning.effort"))
  );
}

/** Whether the model answers 400 to an unsigned call in the history (https://ai.google.dev/gemini-api/docs/thought-signatures). */
export const wantsSignatures = ({ upstreamModel }: Target): boolean =>
  /(^|\/)gemini-(?:[3-9]|\d\d)/.test(upstreamModel) || /(^|\/)gemini-[a-z-]*latest$/.test(upstreamModel);
