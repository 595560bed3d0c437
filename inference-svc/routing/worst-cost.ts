/** The amount that a budget holds for a call: the most that it can cost, and the length that keeps the answer below that. */
import { inputTokensOf, sizeOf } from "../estimate/tokens.ts";
import { worstCaseOf } from "../estimate/worst-case.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Endpoint } from "./catalog.ts";
import { maxCostOf } from "./tariff.ts";

export interface WorstCost {
  /** The request with a maximum for its answer, which the provider is told. */
  readonly request: TurnRequest;
  /** In 10^-12 USD. */
  readonly pico: bigint;
}

/** Nearly all answers are shorter; the largest answer of a model is far above what a budget should hold for one. */
const defaultAnswerTokens = 4_096;
/** The answer keeps this much room when the input is as long as the window: providers refuse a maximum below their least. */
const minAnswerTokens = 256;
/** Searches that a provider runs for one answer when the request does not limit them. */
const defaultSearches = 10;

/** @returns undefined when no price is known: then nothing is held, and the request stays as it is */
export function worstCostOf(endpoint: Endpoint, request: TurnRequest): WorstCost | undefined {
  const tariff = endpoint.tariffs.get(endpoint.tier);
  if (tariff === undefined) return undefined;
  const size = sizeOf(request);
  const { inputTokens, writesHourCache } = worstCaseOf(request, endpoint);
  const outputTokens = request.maxOutputTokens ?? answerTokens(endpoint, request, inputTokensOf(size, endpoint.model));
  const searches = request.tools.some(({ type }) => type === "hosted") ? (request.maxToolCalls ?? defaultSearches) : 0;
  const pico = maxCostOf(tariff, {
    inputTokens,
    outputTokens,
    writesHourCache,
    searches,
    media: size.media,
    outputImages: Number(request.outputModalities.includes("image")),
  });
  return { request: { ...request, maxOutputTokens: outputTokens }, pico };
}

/** Servers of small windows refuse a maximum that does not fit beside the input. */
function answerTokens(endpoint: Endpoint, { reasoning }: TurnRequest, inputTokens: number): number {
  const wanted = defaultAnswerTokens + (reasoning?.maxTokens ?? 0);
  const room = Math.max(minAnswerTokens, Math.min(wanted, endpoint.contextLength - inputTokens));
  return Math.min(room, endpoint.maxOutputTokens ?? room);
}
