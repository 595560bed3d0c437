/** Usage of a Converse answer (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html). */
import type { Usage } from "../../../turn/usage.ts";
import { parseCount, isObject, objects } from "../json.ts";

/** Converts Bedrock's counts. Bedrock counts cached tokens apart from the input; for Sluice they are part of it. */
export function converseUsage(figures: unknown): Usage | undefined {
  if (!isObject(figures)) return undefined;
  const cachedTokens = parseCount(figures.cacheReadInputTokens);
  const cacheWriteTokens = parseCount(figures.cacheWriteInputTokens);
  const hourly = objects(figures.cacheDetails).find(({ ttl }) => ttl === "1h");
  const cacheWriteHourTokens = Math.min(cacheWriteTokens, parseCount(hourly?.inputTokens));
  return {
    inputTokens: parseCount(parseCount(figures.inputTokens) + cachedTokens + cacheWriteTokens),
    cachedTokens,
    cacheWriteTokens,
    ...(cacheWriteHourTokens > 0 && { cacheWriteHourTokens }),
    outputTokens: parseCount(figures.outputTokens),
    // Bedrock counts reasoning as output, without a separate figure.
    reasoningTokens: 0,
  };
}
