/** Usage of a Cohere answer: the billed tokens, and those that the model has read and written (https://docs.cohere.com/reference/chat). */
import type { Usage } from "../../../turn/usage.ts";
import { type JsonObject, isObject, parseCount } from "../json.ts";

const none: JsonObject = {};

/**
 * Billed tokens count, because prices apply to them. The model also reads a prompt of Cohere that is not charged. It
 * comes first, so cached tokens are first of all tokens of this prompt. Reasoning has no separate count.
 */
export function cohereUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const billed = isObject(value.billed_units) ? value.billed_units : none;
  const tokens = isObject(value.tokens) ? value.tokens : none;
  const read = parseCount(tokens.input_tokens);
  const inputTokens = parseCount(billed.input_tokens) || read;
  const unbilled = Math.max(0, read - inputTokens);
  return {
    inputTokens,
    cachedTokens: Math.min(inputTokens, Math.max(0, parseCount(value.cached_tokens) - unbilled)),
    cacheWriteTokens: 0,
    outputTokens: parseCount(billed.output_tokens) || parseCount(tokens.output_tokens),
    reasoningTokens: 0,
  };
}
