/** Computes the maximum cost of a call, which budgets hold, and limits the length of its answer so the cost stays within it. */
import { estimateInputTokens, measureInput } from "../../estimate/tokens.ts";
import { boundInput } from "../../estimate/worst-case.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Endpoint } from "../catalog.ts";
import { minAnswerTokens } from "../choose/answer-limit.ts";
import { calculateMaxCost, unlistedTariff } from "./tariff.ts";

export interface BoundedCall {
  /** The request for the provider, with a maximum for its answer. */
  readonly request: TurnRequest;
  /** Maximum cost in 10^-12 USD. */
  readonly pico: bigint;
}

/**
 * Maximum output tokens for requests that set none: nearly all answers are shorter, and the longest possible answer of
 * a model costs far more than a budget should hold.
 */
const defaultAnswerTokens = 4_096;
const defaultSearches = 10;

/** Output of an embeddings call, which is paid for by its input. */
const noOutput = {
  outputTokens: 0,
  writesHourCache: false,
  searches: 0,
  media: { images: 0, audios: 0, others: 0, pages: 0 },
  outputImages: 0,
};

const fastTiers: ReadonlySet<unknown> = new Set(["priority", "fast", "ultrafast"]);

/** Whether the provider may be asked for the tier priority. */
const isFast = ({ serviceTier }: TurnRequest): boolean => fastTiers.has(serviceTier);

/** @returns undefined when no price is known: no amount is then held, and the request is unchanged */
export function boundCost(endpoint: Endpoint, request: TurnRequest): BoundedCall | undefined {
  const own = endpoint.tariffs.get(endpoint.tier);
  if (own === undefined) return undefined;
  const tariff = endpoint.tier === "default" && isFast(request) ? unlistedTariff(own, "priority") : own;
  const size = measureInput(request);
  const { inputTokens, writesHourCache } = boundInput(request, endpoint);
  if (request.embedding) return { request, pico: calculateMaxCost(tariff, { ...noOutput, inputTokens }) };
  const outputTokens =
    request.maxOutputTokens ?? answerTokens(endpoint, request, estimateInputTokens(size, endpoint.model));
  const searches = request.tools.some(({ type }) => type === "hosted") ? (request.maxToolCalls ?? defaultSearches) : 0;
  const pico = calculateMaxCost(tariff, {
    inputTokens,
    // Unused tokens of a prediction are charged in addition to the answer; no vocabulary has tokens shorter than a
    // byte.
    outputTokens: outputTokens + Buffer.byteLength(request.predictionJson ?? ""),
    writesHourCache,
    searches,
    media: size.media,
    outputImages: Number(request.outputModalities.includes("image")),
  });
  return { request: { ...request, maxOutputTokens: outputTokens }, pico };
}

/** Maximum output tokens: servers with small context windows refuse a maximum for which the input leaves too little room. */
function answerTokens(endpoint: Endpoint, { reasoning }: TurnRequest, inputTokens: number): number {
  const wanted = defaultAnswerTokens + (reasoning?.maxTokens ?? 0);
  const room = Math.max(minAnswerTokens, Math.min(wanted, endpoint.contextLength - inputTokens));
  return Math.min(room, endpoint.maxOutputTokens ?? room);
}
