/**
 * What a request uses of a key's rate limits, and the decision about it; the same for counts in this process and in
 * Redis.
 */
import { dayMs, remainingUnits, waitForUnitMs } from "./bucket.ts";
import type { KeyLimits } from "./settings.ts";

export interface LimitedUse {
  /** Whether the request counts against the requests per minute. */
  readonly request: boolean;
  /** Whether the request begins a turn, which counts against the concurrent turns of its key. */
  readonly turn: boolean;
  /** Whether the request is refused while the key has no tokens left. */
  readonly tokens: boolean;
}

/** Use of a request that begins a turn. */
export const newTurnUse: LimitedUse = { request: true, turn: true, tokens: true };
/** Use of a request that shares a running turn. */
export const sharedTurnUse: LimitedUse = { request: true, turn: false, tokens: true };
/**
 * Use of a read-only request, such as a list of models. It takes no tokens, so a key without remaining tokens may still
 * send it.
 */
export const readOnlyUse: LimitedUse = { request: true, turn: false, tokens: false };

export type LimitName = "requests" | "tokens" | "requests_per_day" | "tokens_per_day" | "concurrency";

/** How far each bucket is ahead, in milliseconds. A value above the bucket's minute or day extends into later ones. */
export interface BucketUse {
  readonly requestsMs: number;
  readonly tokensMs: number;
  readonly requestsDayMs: number;
  readonly tokensDayMs: number;
}

export interface Decision {
  /** The limit that refused the request; undefined when it was admitted and counted. */
  readonly refusedBy: LimitName | undefined;
  /** State of the buckets, which includes this request if it was admitted. */
  readonly ahead: BucketUse;
}

/** A decision about several limits, which all count the request or none. */
export interface JointDecision {
  /** The limit that refused the request; undefined when all limits admitted and counted it. */
  readonly refusedBy: LimitName | undefined;
  /** Index of the group of limits that contains the refusing limit. */
  readonly index: number;
  /** State of the buckets of each group of limits. */
  readonly ahead: readonly BucketUse[];
}

/** Milliseconds after which to retry when too many turns run, whose end is unknown. */
const turnWaitMs = 1_000;

/** The Fault for a refusal, with a time after which to retry. */
export function refusalOf(
  refusedBy: LimitName,
  { requestsMs, tokensMs, requestsDayMs, tokensDayMs }: BucketUse,
  limits: KeyLimits,
): { readonly why: string; readonly retryAfterMs: number } {
  const { requestsPerMinute = 1, tokensPerMinute = 1, requestsPerDay = 1, tokensPerDay = 1 } = limits;
  switch (refusedBy) {
    case "requests":
      return {
        why: `${requestsPerMinute} requests a minute`,
        retryAfterMs: waitForUnitMs(requestsPerMinute, requestsMs),
      };
    case "tokens":
      return { why: `${tokensPerMinute} tokens a minute`, retryAfterMs: waitForUnitMs(tokensPerMinute, tokensMs) };
    case "requests_per_day":
      return {
        why: `${requestsPerDay} requests a day`,
        retryAfterMs: waitForUnitMs(requestsPerDay, requestsDayMs, dayMs),
      };
    case "tokens_per_day":
      return { why: `${tokensPerDay} tokens a day`, retryAfterMs: waitForUnitMs(tokensPerDay, tokensDayMs, dayMs) };
    case "concurrency":
      return { why: `${limits.concurrentRequests} requests of this key are running`, retryAfterMs: turnWaitMs };
  }
}

/** Rate limit headers of an answer to a key with a limit per minute. */
export type RateLimitHeaders = Readonly<Record<`x-ratelimit-${string}`, string>>;

const kinds = ["requests", "tokens"] as const;
export const rateLimitHeaderNames: readonly string[] = kinds.flatMap((kind) =>
  ["limit", "remaining", "reset"].map((what) => `x-ratelimit-${what}-${kind}`),
);

export const hasRate = ({ requestsPerMinute, tokensPerMinute }: KeyLimits): boolean =>
  requestsPerMinute !== undefined || tokensPerMinute !== undefined;

/** Rate limit headers; undefined for a key without a limit per minute. */
export function rateLimitHeaders(limits: KeyLimits, { requestsMs, tokensMs }: BucketUse): RateLimitHeaders | undefined {
  if (!hasRate(limits)) return undefined;
  const { requestsPerMinute, tokensPerMinute } = limits;
  return {
    ...(requestsPerMinute !== undefined && headersFor("requests", requestsPerMinute, requestsMs)),
    ...(tokensPerMinute !== undefined && headersFor("tokens", tokensPerMinute, tokensMs)),
  };
}

/** Rate limit headers of a refusal by one limit. */
export const refusalHeaders = (kind: (typeof kinds)[number], limit: number, aheadMs: number): RateLimitHeaders => ({
  ...headersFor(kind, limit, aheadMs),
  [`x-ratelimit-remaining-${kind}`]: "0",
});

const headersFor = (kind: (typeof kinds)[number], limit: number, aheadMs: number): RateLimitHeaders => ({
  [`x-ratelimit-limit-${kind}`]: String(limit),
  [`x-ratelimit-remaining-${kind}`]: String(remainingUnits(limit, aheadMs)),
  [`x-ratelimit-reset-${kind}`]: duration(aheadMs),
});

/** Formats a duration as in other providers' headers: 120ms, 1.25s, 6m0s. */
function duration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole % 60_000) / 1_000}s`;
  return minutes === 0 ? seconds : `${minutes}m${seconds}`;
}
