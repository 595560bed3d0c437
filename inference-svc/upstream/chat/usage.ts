/** The figures of a chat answer. */
import type { Usage } from "../../turn/turn.ts";
import { count, isObject } from "../json.ts";

export function chatUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const completion = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {};
  const inputTokens = count(value.prompt_tokens);
  const outputTokens = count(value.completion_tokens);
  return {
    inputTokens,
    outputTokens,
    cachedTokens: Math.min(inputTokens, count(prompt.cached_tokens ?? value.prompt_cache_hit_tokens)),
    cacheWriteTokens: Math.min(inputTokens, count(prompt.cache_write_tokens)),
    reasoningTokens: Math.min(outputTokens, count(completion.reasoning_tokens)),
  };
}
