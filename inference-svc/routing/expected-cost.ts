/** What a call will cost as far as anybody can know before it: to compare models by, never to charge. */
import { type InputSize, inputTokensOf } from "../estimate/tokens.ts";
import type { TurnRequest } from "../turn/request.ts";
import { totalOf } from "../turn/usage.ts";
import type { Endpoint } from "./catalog.ts";
import { costOf } from "./tariff.ts";

/** About what an answer has in the middle of chats, agents and summaries; how long those of a model really are is not counted yet. */
const usualTokens = 600;

/**
 * In 10^-12 USD, at the cheapest of the endpoints; Infinity where no price is known.
 * @param size of the request
 * @param lengthFactor how much longer than usual the answer is
 */
export function expectedCost(
  endpoints: readonly Endpoint[],
  request: TurnRequest,
  size: InputSize,
  lengthFactor = 1,
): number {
  const costs = endpoints.map((endpoint) => {
    const tariff = endpoint.tariffs.get(endpoint.tier);
    if (tariff === undefined) return Number.POSITIVE_INFINITY;
    const outputTokens = Math.min(request.maxOutputTokens ?? Number.POSITIVE_INFINITY, usualTokens * lengthFactor);
    const usage = { inputTokens: inputTokensOf(size, endpoint.model), outputTokens, ...untold };
    return Number(totalOf(costOf(tariff, usage, size.media, 0)));
  });
  return Math.min(...costs, Number.POSITIVE_INFINITY);
}

const untold = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
