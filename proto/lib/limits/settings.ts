/** Rate limits of a key or of models, and the maximum configurable values. */
import type { Caller } from "../../gen/sluice/admin/v1/access_service_pb.ts";

export const maxRequestsPerMinute = 1_000_000;
export const maxTokensPerMinute = 1_000_000_000;
export const maxRequestsPerDay = 1_000_000_000;
export const maxTokensPerDay = 1_000_000_000_000;
export const maxConcurrentRequests = 100_000;

/** Limits in force for one key, or for some models. Undefined: no limit. */
export interface KeyLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  /** Keys have limits by the minute only. */
  readonly requestsPerDay?: number | undefined;
  readonly tokensPerDay?: number | undefined;
  /** Maximum number of simultaneously open turns. */
  readonly concurrentRequests: number | undefined;
}

/** Limits for keys in the section `limits` of the configuration file. */
export interface ConfigLimits {
  readonly streams_per_key: number;
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
}

/** A key's own limits take precedence over those of the configuration file. */
export const limitsOf = ({ rateLimits: own }: Pick<Caller, "rateLimits">, config: ConfigLimits): KeyLimits => ({
  requestsPerMinute: own?.requestsPerMinute ?? config.requests_per_minute ?? undefined,
  tokensPerMinute: own?.tokensPerMinute ?? config.tokens_per_minute ?? undefined,
  concurrentRequests: own?.concurrentRequests ?? config.streams_per_key,
});
