/** What is asked of the limits of a key, and what they answer: the same here and in Redis. */
import { remainingOf, waitMs } from "./bucket.ts";
import type { KeyLimits } from "./settings.ts";

export interface Ask {
  /** Counts as one of the requests of a minute. */
  readonly request: boolean;
  /** Opens a turn. */
  readonly turn: boolean;
  /** Refused while the key has no tokens left. */
  readonly tokens: boolean;
}

/** A request that opens a turn. */
export const openTurn: Ask = { request: true, turn: true, tokens: true };
/** A request that shares a running turn. */
export const joinTurn: Ask = { request: true, turn: false, tokens: true };
/** A request that only reads, such as a list of models: it uses no tokens, so a key without tokens may still send it. */
export const readOnly: Ask = { request: true, turn: false, tokens: false };

export type LimitName = "requests" | "tokens" | "concurrency";

/** How much of a minute's worth is used up, in milliseconds of the minute; beyond 60,000 of the next ones, too. */
export interface Ahead {
  readonly requestsMs: number;
  readonly tokensMs: number;
}

export interface Decision {
  /** The limit that is reached; undefined: let in, and counted. */
  readonly refusedBy: LimitName | undefined;
  /** With what was asked for, if it was let in. */
  readonly ahead: Ahead;
}

/** Nobody knows when a turn will end. */
const turnWaitMs = 1_000;

/** When to come back, and why. */
export function refusalOf(
  refusedBy: LimitName,
  { requestsMs, tokensMs }: Ahead,
  { requestsPerMinute = 1, tokensPerMinute = 1, concurrentRequests }: KeyLimits,
): { readonly why: string; readonly retryAfterMs: number } {
  switch (refusedBy) {
    case "requests":
      return { why: `${requestsPerMinute} requests a minute`, retryAfterMs: waitMs(requestsPerMinute, requestsMs) };
    case "tokens":
      return { why: `${tokensPerMinute} tokens a minute`, retryAfterMs: waitMs(tokensPerMinute, tokensMs) };
    case "concurrency":
      return { why: `${concurrentRequests} requests of this key are running`, retryAfterMs: turnWaitMs };
  }
}

/** Of an answer to a key that has a limit by the minute. */
export type RateLimitHeaders = Readonly<Record<`x-ratelimit-${string}`, string>>;

const kinds = ["requests", "tokens"] as const;
export const rateLimitHeaderNames: readonly string[] = kinds.flatMap((kind) =>
  ["limit", "remaining", "reset"].map((what) => `x-ratelimit-${what}-${kind}`),
);

export const hasRate = ({ requestsPerMinute, tokensPerMinute }: KeyLimits): boolean =>
  requestsPerMinute !== undefined || tokensPerMinute !== undefined;

/** Undefined when the key has no limit by the minute. */
export function headersOf(limits: KeyLimits, { requestsMs, tokensMs }: Ahead): RateLimitHeaders | undefined {
  if (!hasRate(limits)) return undefined;
  const { requestsPerMinute, tokensPerMinute } = limits;
  return {
    ...(requestsPerMinute !== undefined && headersFor("requests", requestsPerMinute, requestsMs)),
    ...(tokensPerMinute !== undefined && headersFor("tokens", tokensPerMinute, tokensMs)),
  };
}

const headersFor = (kind: (typeof kinds)[number], limit: number, aheadMs: number): RateLimitHeaders => ({
  [`x-ratelimit-limit-${kind}`]: String(limit),
  [`x-ratelimit-remaining-${kind}`]: String(remainingOf(limit, aheadMs)),
  [`x-ratelimit-reset-${kind}`]: duration(aheadMs),
});

/** As clients know it from elsewhere: 120ms, 1.25s, 6m0s. */
function duration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole % 60_000) / 1_000}s`;
  return minutes === 0 ? seconds : `${minutes}m${seconds}`;
}
