/** Estimates the cost of a call before it is made, to compare models and never to charge. */
import { type InputSize, estimateInputTokens } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import { totalCost } from "../../../turn/usage.ts";
import type { Endpoint } from "../catalog.ts";
import { calculateCost } from "./tariff.ts";

/** Tokens of a typical answer in chats, agents and summaries; the actual lengths of a model's answers are not measured yet. */
const defaultAnswerTokens = 600;

/**
 * Expected cost in 10^-12 USD at the cheapest of the endpoints; Infinity when no price is known.
 * @param size size of the request
 * @param lengthFactor how many times as long as usual the answer is
 */
export function estimateCost(
  endpoints: readonly Endpoint[],
  request: TurnRequest,
  size: InputSize,
  lengthFactor = 1,
): number {
  const costs = endpoints.map((endpoint) => {
    const tariff = endpoint.tariffs.get(endpoint.tier);
    if (tariff === undefined) return Number.POSITIVE_INFINITY;
    const outputTokens = Math.min(
      request.maxOutputTokens ?? Number.POSITIVE_INFINITY,
      defaultAnswerTokens * lengthFactor,
    );
    const usage = { inputTokens: estimateInputTokens(size, endpoint.model), outputTokens, ...untold };
    return Number(totalCost(calculateCost(tariff, usage, size.media, 0)));
  });
  return Math.min(...costs, Number.POSITIVE_INFINITY);
}

const untold = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
