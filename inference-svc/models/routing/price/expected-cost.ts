/** Estimates the cost of a call before it is made: for comparing models, never for charging. */
import { type InputSize, estimateInputTokens } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import { totalCost } from "../../../turn/usage.ts";
import type { Endpoint } from "../catalog.ts";
import { calculateCost } from "./tariff.ts";

/** Typical answer in chats, agents and summaries; how long the answers of a model really are is not counted yet. */
const defaultAnswerTokens = 600;

/**
 * Cost in 10^-12 USD at the cheapest of the endpoints; Infinity when no price is known.
 * @param size of the request
 * @param lengthFactor how much longer than usual the answer is
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
