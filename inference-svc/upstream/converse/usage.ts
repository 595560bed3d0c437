/** The figures of an answer (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html). */
import type { Usage } from "../../turn/turn.ts";
import { count, isObject, objects } from "../json.ts";

/** Cached tokens are reported beside the others here; in a response they are among them. */
export function usageOf(figures: unknown): Usage | undefined {
  if (!isObject(figures)) return undefined;
  const cachedTokens = count(figures.cacheReadInputTokens);
  const cacheWriteTokens = count(figures.cacheWriteInputTokens);
  const kept = objects(figures.cacheDetails).find(({ ttl }) => ttl === "1h");
  const cacheWriteHourTokens = Math.min(cacheWriteTokens, count(kept?.inputTokens));
  return {
    inputTokens: count(count(figures.inputTokens) + cachedTokens + cacheWriteTokens),
    cachedTokens,
    cacheWriteTokens,
    ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
    outputTokens: count(figures.outputTokens),
    // Among the others; nobody says how many.
    reasoningTokens: 0,
  };
}
