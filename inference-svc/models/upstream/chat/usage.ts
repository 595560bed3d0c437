/** Reads the usage of a chat answer, under the names that all vendors use. */
import type { Usage } from "../../../turn/usage.ts";
import { type JsonObject, parseCount, isObject } from "../json.ts";

export function chatUsage(value: JsonObject): Usage {
  const prompt = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : none;
  const details = isObject(value.completion_tokens_details) ? value.completion_tokens_details : none;
  const told = parseCount(value.prompt_tokens);
  const answer = parseCount(value.completion_tokens);
  // The format has cached tokens in the details; DeepSeek and Moonshot report them beside the other counts.
  const cached = prompt.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.cached_tokens;
  // The last two names are used by LiteLLM and Qwen.
  const written = prompt.cache_write_tokens ?? prompt.cache_creation_tokens ?? prompt.cache_creation_input_tokens;
  // SGLang and Perplexity report reasoning tokens outside of the details; Perplexity may count more of them than for
  // the answer.
  const thoughts = parseCount(details.reasoning_tokens ?? value.reasoning_tokens);
  // xAI counts reasoning apart from the answer. Google does, too, but does not report the count: only the total
  // includes it. Without other counts, a total tells nothing about the answer.
  const uncounted = told === 0 ? 0 : parseCount(value.total_tokens) - told - answer;
  // Mistral counts the sounds of a request apart from the prompt; only the details and the total include them.
  const heard = uncounted > 0 && prompt.audio_tokens === uncounted ? uncounted : 0;
  const inputTokens = parseCount(told + heard);
  const missing = uncounted - heard;
  const counted = missing > 0 && (thoughts === 0 || thoughts === missing) ? missing : 0;
  // Vercel's gateway, recognized by the member `market_cost`, leaves Google's reasoning out of the answer's count and
  // the total, but charges it.
  const added = value.market_cost !== undefined && thoughts > answer ? thoughts : counted;
  const outputTokens = parseCount(answer + added);
  const reasoned = thoughts === 0 ? added : thoughts;
  return {
    inputTokens,
    cachedTokens: parseCount(cached),
    cacheWriteTokens: parseCount(written),
    outputTokens,
    reasoningTokens: details.reasoning_tokens === undefined ? Math.min(outputTokens, reasoned) : reasoned,
  };
}

const none: JsonObject = {};
