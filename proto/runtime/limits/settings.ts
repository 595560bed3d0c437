/** How much a key may ask at a time, and the largest values that can be set. */
import type { Caller } from "../../gen/sluice/admin/v1/access_service_pb.ts";

export const mostRequestsPerMinute = 1_000_000;
export const mostTokensPerMinute = 1_000_000_000;
export const mostConcurrentRequests = 100_000;

/** What counts for one key. Undefined: no limit. */
export interface KeyLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  /** Turns that are open at a time. */
  readonly concurrentRequests: number;
}

/** `limits` of the house file, as far as keys are concerned. */
export interface HouseLimits {
  readonly streams_per_key: number;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
}

/** A key's own limits come before those of the house. */
export const limitsOf = ({ rateLimits: own }: Pick<Caller, "rateLimits">, house: HouseLimits): KeyLimits => ({
  requestsPerMinute: own?.requestsPerMinute ?? house.requests_per_minute ?? undefined,
  tokensPerMinute: own?.tokensPerMinute ?? house.tokens_per_minute ?? undefined,
  concurrentRequests: own?.concurrentRequests ?? house.streams_per_key,
});
