/** Plans the call to each candidate endpoint for a dry run: the fields that are not sent, and the maximum charge. */
import { type InputSize, estimateInputTokens, measureInput } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import { type Cost, totalCost } from "../../../turn/usage.ts";
import type { Endpoint } from "../catalog.ts";
import { limitAnswer } from "./answer-limit.ts";
import { withoutUnsupported } from "./needs.ts";
import { calculateCost } from "../price/tariff.ts";
import { boundCost } from "../price/worst-cost.ts";

export interface PlannedAttempt {
  readonly endpoint: Endpoint;
  readonly losses: readonly DroppedField[];
  /** Fields of the body that are unknown to Sluice's API and passed on. */
  readonly passedFields: readonly string[];
  /** Request body without credentials; undefined when no body would be sent. */
  readonly bodyJson: string | undefined;
  /** Input tokens, estimated from the size of the input. */
  readonly inputTokens: number;
  /** The requested maximum of output tokens, else the model's; 0 for embeddings; undefined when nothing is known. */
  readonly maxOutputTokens: number | undefined;
  /** Cost of these tokens without a cache hit and without tools run by the provider; undefined when no price is known. */
  readonly cost: Cost | undefined;
  /** Amount in 10^-12 USD that budgets hold for the call; undefined when no price is known. */
  readonly held: bigint | undefined;
}

/** A request in the format of an endpoint. */
export interface TranslatedRequest {
  readonly droppedFields: readonly DroppedField[];
  readonly passedFields?: readonly string[];
  readonly bodyJson: string | undefined;
}

/** An endpoint with the request that would be sent to it. */
export interface OutgoingRequest {
  readonly endpoint: Endpoint;
  readonly request: TurnRequest;
}

/** @param all endpoints with their requests, in the order of the attempts */
export function planAttempts(
  all: readonly OutgoingRequest[],
  preview: (endpoint: Endpoint, request: TurnRequest) => TranslatedRequest,
): readonly PlannedAttempt[] {
  // Sizes by request, because usually all endpoints get the same one.
  const sizes = new Map<TurnRequest, InputSize>();
  return all.map(({ endpoint, request }) => {
    const size = sizes.get(request) ?? measureInput(request);
    sizes.set(request, size);
    const lacking: DroppedField[] = [];
    const limited = limitAnswer(request, endpoint, lacking);
    const outgoing = withoutUnsupported(limited, endpoint, lacking);
    const { droppedFields: losses, passedFields = [], bodyJson } = preview(endpoint, outgoing);
    const inputTokens = estimateInputTokens(size, endpoint.model);
    const maxOutputTokens = limited.embedding ? 0 : (limited.maxOutputTokens ?? endpoint.maxOutputTokens);
    const tariff = endpoint.tariffs.get(endpoint.tier);
    const usage = { inputTokens, outputTokens: maxOutputTokens ?? 0, ...untold };
    return {
      endpoint,
      losses: [...lacking, ...losses],
      passedFields,
      bodyJson,
      inputTokens,
      maxOutputTokens,
      cost: tariff && calculateCost(tariff, usage, size.media, expectedImages(request)),
      held: boundCost(endpoint, outgoing)?.pico,
    };
  });
}

/** Expected number of output images: the request does not state it, and one is usual. */
const expectedImages = ({ outputModalities }: TurnRequest): number => Number(outputModalities.includes("image"));

const untold = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

/** Likely cost of the input of a call, in 10^-12 USD; 0 when no price is known. */
export function estimateInputCost(endpoint: Endpoint, request: TurnRequest): bigint {
  const tariff = endpoint.tariffs.get(endpoint.tier);
  if (tariff === undefined) return 0n;
  const size = measureInput(request);
  const usage = { inputTokens: estimateInputTokens(size, endpoint.model), outputTokens: 0, ...untold };
  return totalCost(calculateCost(tariff, usage, size.media, expectedImages(request)));
}
