/** The figures of a Responses answer. */
import type { Usage } from "../../turn/turn.ts";
import { count, isObject } from "../json.ts";

export function responsesUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const inputTokens = count(value.input_tokens);
  const outputTokens = count(value.output_tokens);
  return {
    inputTokens,
    outputTokens,
    cachedTokens: Math.min(inputTokens, count(input.cached_tokens)),
    cacheWriteTokens: Math.min(inputTokens, count(input.cache_write_tokens)),
    reasoningTokens: Math.min(outputTokens, count(output.reasoning_tokens)),
  };
}
