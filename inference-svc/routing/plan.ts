/** What asking each candidate would come to: what it would not be told, and what it would charge at most. Nobody is asked. */
import { type InputSize, inputTokensOf, sizeOf } from "../estimate/tokens.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Loss } from "../turn/scope.ts";
import type { Cost } from "../turn/turn.ts";
import { totalOf } from "../turn/usage.ts";
import type { Endpoint } from "./catalog.ts";
import { fitted } from "./needs.ts";
import { costOf } from "./tariff.ts";

export interface PlannedAttempt {
  readonly endpoint: Endpoint;
  readonly losses: readonly Loss[];
  /** The body that would be sent, without credentials; undefined where nothing is. */
  readonly bodyJson: string | undefined;
  /** Estimated by size. */
  readonly inputTokens: number;
  /** As asked for, else as the model gives at most; undefined when neither says. */
  readonly maxOutputTokens: number | undefined;
  /** Of that many tokens, none of them cached, and without tools that the provider runs; undefined when no price is known. */
  readonly cost: Cost | undefined;
}

/** What an endpoint would be told of a request. */
export interface Told {
  readonly losses: readonly Loss[];
  readonly bodyJson: string | undefined;
}

/** What an endpoint would be asked. */
export interface Asked {
  readonly endpoint: Endpoint;
  readonly request: TurnRequest;
}

/** @param all in the order in which they would be asked */
export function planOf(
  all: readonly Asked[],
  told: (endpoint: Endpoint, request: TurnRequest) => Told,
): readonly PlannedAttempt[] {
  // As a rule all are asked the same.
  const sizes = new Map<TurnRequest, InputSize>();
  return all.map(({ endpoint, request }) => {
    const size = sizes.get(request) ?? sizeOf(request);
    sizes.set(request, size);
    const lacking: Loss[] = [];
    const { losses, bodyJson } = told(endpoint, fitted(request, endpoint, lacking));
    const inputTokens = inputTokensOf(size, endpoint.model);
    const maxOutputTokens = request.maxOutputTokens ?? endpoint.maxOutputTokens;
    const tariff = endpoint.tariffs.get(endpoint.tier);
    const usage = { inputTokens, outputTokens: maxOutputTokens ?? 0, ...untold };
    return {
      endpoint,
      losses: [...lacking, ...losses],
      bodyJson,
      inputTokens,
      maxOutputTokens,
      cost: tariff && costOf(tariff, usage, size.media, imagesOf(request)),
    };
  });
}

/** How many an answer has nobody knows before: whoever asks for images gets one, as a rule. */
const imagesOf = ({ outputModalities }: TurnRequest): number => Number(outputModalities.includes("image"));

const untold = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };

/** Likely cost of a call before it says anything, in 10^-12 USD; 0 when no price is known. */
export function inputCost(endpoint: Endpoint, request: TurnRequest): bigint {
  const tariff = endpoint.tariffs.get(endpoint.tier);
  if (tariff === undefined) return 0n;
  const size = sizeOf(request);
  const usage = { inputTokens: inputTokensOf(size, endpoint.model), outputTokens: 0, ...untold };
  return totalOf(costOf(tariff, usage, size.media, imagesOf(request)));
}
