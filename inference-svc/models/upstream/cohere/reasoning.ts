/**
 * Reasoning of Cohere's models: a budget of tokens in the request, and reasoning text in the history
 * (https://docs.cohere.com/docs/reasoning).
 */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { lastEffort } from "../translate/reasoning-effort.ts";

/** Share of the output limit that is the budget for an effort. Higher efforts have no budget, as Cohere recommends. */
const shares: Readonly<Record<string, number>> = { medium: 0.5, low: 0.2, minimal: 0.1 };

/** Output tokens from which a budget is computed when neither the request nor the endpoint has a limit. */
const defaultMaxTokens = 4_096;

/** The reasoning settings of a request. @returns undefined when the model decides for itself */
export function cohereThinking(request: TurnRequest, translation: TranslationContext): JsonObject | undefined {
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const { target, onDropped } = translation;
  if (summary !== undefined) onDropped("reasoning.summary", "the format has no field for it");
  if (context !== "auto") onDropped("reasoning.context", "the format has no field for it");
  if (mode !== "standard") onDropped("reasoning.mode", "the format has no field for it");
  const effort = lastEffort(request, translation);
  if (maxTokens !== undefined) {
    if (effort) onDropped(effort.path, "reasoning.max_tokens counts instead");
    return { type: "enabled", token_budget: maxTokens };
  }
  if (effort === undefined) return undefined;
  if (effort.value === "none") return { type: "disabled" };
  if (effort.value === "xhigh" || effort.value === "max") onDropped(effort.path, "sent as high");
  const share = shares[effort.value];
  const limit = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  return {
    type: "enabled",
    ...(share !== undefined && { token_budget: Math.max(1, Math.floor(limit * share)) }),
  };
}

/**
 * The part for earlier reasoning. @returns undefined for encrypted reasoning, which only its own vendor can read, and
 * if the endpoint is not known to accept reasoning
 */
export function toThinkingPart(item: InputItem, target: Target): JsonObject | undefined {
  const isOpen = (text(item.format) || "unknown") === "unknown" && text(item.encrypted_content) === "";
  if (!isOpen || !supportsParameter(target, "reasoning_content")) return undefined;
  const thinking = objects(item.content)
    .map((part) => text(part.text))
    .join("");
  return thinking === "" ? undefined : { type: "thinking", thinking };
}
