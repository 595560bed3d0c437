/** Rate limits of a key or of models, and their configurable maximum. */
import type { Caller } from "../../gen/sluice/admin/v1/access_service_pb.ts";

export const maxRequestsPerMinute = 1_000_000;
export const maxTokensPerMinute = 1_000_000_000;
export const maxRequestsPerDay = 1_000_000_000;
export const maxTokensPerDay = 1_000_000_000_000;
export const maxConcurrentRequests = 100_000;

/** Limits in force for a key or for a group of models; undefined means no limit. */
export interface KeyLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  /** Requests by the day; only groups of models have limits by the day. */
  readonly requestsPerDay?: number | undefined;
  readonly tokensPerDay?: number | undefined;
  /** Maximum number of turns that run at the same time. */
  readonly concurrentRequests: number | undefined;
}

/** Default limits of keys, from the section `limits` of the configuration file. */
export interface ConfigLimits {
  readonly streams_per_key: number;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
}

/** The limits in force: a key's own limits take precedence over those of the configuration file. */
export const limitsOf = ({ rateLimits: own }: Pick<Caller, "rateLimits">, config: ConfigLimits): KeyLimits => ({
  requestsPerMinute: own?.requestsPerMinute ?? config.requests_per_minute ?? undefined,
  tokensPerMinute: own?.tokensPerMinute ?? config.tokens_per_minute ?? undefined,
  concurrentRequests: own?.concurrentRequests ?? config.streams_per_key,
});
