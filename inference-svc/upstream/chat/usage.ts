/** The figures of a chat answer, by the names that vendors have for them. */
import type { Usage } from "../../turn/turn.ts";
import { type JsonObject, count, isObject } from "../json.ts";

export function chatUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const prompt = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const inputTokens = count(value.prompt_tokens);
  // In the details by the book; DeepSeek's, and Moonshot's, stand beside the others.
  const cached = prompt.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.cached_tokens;
  // LiteLLM's, and those of Qwen.
  const written = prompt.cache_write_tokens ?? prompt.cache_creation_tokens ?? prompt.cache_creation_input_tokens;
  return {
    inputTokens,
    cachedTokens: Math.min(inputTokens, count(cached)),
    cacheWriteTokens: Math.min(inputTokens, count(written)),
    ...outputOf(value, inputTokens),
  };
}

/** xAI counts thoughts beside the answer, and Google does without saying how many: only its total holds them. */
function outputOf(value: JsonObject, inputTokens: number): Pick<Usage, "outputTokens" | "reasoningTokens"> {
  const details = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {};
  const answer = count(value.completion_tokens);
  // SGLang's stand outside of the details.
  const thoughts = count(details.reasoning_tokens ?? value.reasoning_tokens);
  const beside = Math.max(0, count(value.total_tokens) - inputTokens - answer);
  const added = beside > 0 && (thoughts === 0 || thoughts === beside) ? beside : 0;
  const outputTokens = count(answer + added);
  return { outputTokens, reasoningTokens: Math.min(outputTokens, thoughts === 0 ? added : thoughts) };
}
