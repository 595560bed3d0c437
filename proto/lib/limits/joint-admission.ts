/** A turn's place in limits of models, from its first use of one of the models to its end. */
import { dayMs, periodMs, waitForUnitMs } from "./bucket.ts";
import { type BucketUse, type JointDecision, type LimitName, refusalOf } from "./decision.ts";
import type { KeyLimits } from "./settings.ts";

/** Limits of a group of models for a key, or for all keys of a workspace. */
export interface ModelLimitRow {
  /** Names the counts; equal for all keys of a workspace where they share them. */
  readonly id: string;
  readonly limits: KeyLimits;
}

/** Use of the models of a row by a turn, at its end. */
export interface TurnEnd {
  readonly tokens: number;
  /** Whether none of the models was called, so that the request does not count. */
  readonly isUnused: boolean;
}

export const nothingUsed: TurnEnd = { tokens: 0, isUnused: false };

/** The limit that keeps a turn waiting longest. */
export interface ReachedLimit {
  /** Index of its row. */
  readonly index: number;
  readonly limit: LimitName;
  readonly maximum: number;
  readonly retryAfterMs: number;
  /** Time until the limit is free as a whole; undefined for turns, whose end is unknown. */
  readonly resetMs: number | undefined;
}

/** Retry hint where another process has taken the last unit. */
const minRetryAfterMs = 1_000;

/** Ends the turn at rows, given by index; at all by default. */
type LeaveRows = (ends: readonly TurnEnd[], rows?: readonly number[]) => void;

export class JointAdmission {
  /** Undefined when the turn may use the models. */
  readonly reached: ReachedLimit | undefined;
  readonly #left: LeaveRows | undefined;

  constructor(rows: readonly ModelLimitRow[], decision: JointDecision, left?: LeaveRows) {
    this.reached = reachedLimit(rows, decision);
    this.#left = left;
  }

  /**
   * Ends the turn at all rows in one step, or at some before the others; once at each.
   * @param ends of each of the rows; absent for a row whose models were called and used no tokens
   * @param rows their indexes; all by default
   */
  leave(ends: readonly TurnEnd[], rows?: readonly number[]): void {
    this.#left?.(ends, rows);
  }
}

/** Several limits may be reached at once, and a client that waits for the first one would meet the next. */
function reachedLimit(rows: readonly ModelLimitRow[], decision: JointDecision): ReachedLimit | undefined {
  const { refusedBy, index, ahead } = decision;
  if (refusedBy === undefined) return undefined;
  const reached = rows.flatMap(({ limits }, at) =>
    exhausted(limits, ahead[at] as BucketUse).map((limit) => toReached(limit, at, rows, decision)),
  );
  return [toReached(refusedBy, index, rows, decision), ...reached].reduce((longest, each) =>
    each.retryAfterMs > longest.retryAfterMs ? each : longest,
  );
}

/** The field of the limits and the bucket of each limit. */
const parts: Readonly<Record<LimitName, readonly [keyof KeyLimits, keyof BucketUse | undefined]>> = {
  requests: ["requestsPerMinute", "requestsMs"],
  tokens: ["tokensPerMinute", "tokensMs"],
  requests_per_day: ["requestsPerDay", "requestsDayMs"],
  tokens_per_day: ["tokensPerDay", "tokensDayMs"],
  concurrency: ["concurrentRequests", undefined],
};

function toReached(
  limit: LimitName,
  index: number,
  rows: readonly ModelLimitRow[],
  { ahead }: JointDecision,
): ReachedLimit {
  const use = ahead[index] as BucketUse;
  const { limits } = rows[index] as ModelLimitRow;
  const { retryAfterMs } = refusalOf(limit, use, limits);
  const [field, bucket] = parts[limit];
  return {
    index,
    limit,
    maximum: limits[field] ?? 0,
    retryAfterMs: retryAfterMs || minRetryAfterMs,
    resetMs: bucket && use[bucket],
  };
}

const exhausted = (limits: KeyLimits, ahead: BucketUse): readonly LimitName[] =>
  (
    [
      ["requests", limits.requestsPerMinute, ahead.requestsMs, periodMs],
      ["tokens", limits.tokensPerMinute, ahead.tokensMs, periodMs],
      ["requests_per_day", limits.requestsPerDay, ahead.requestsDayMs, dayMs],
      ["tokens_per_day", limits.tokensPerDay, ahead.tokensDayMs, dayMs],
    ] as const
  ).flatMap(([name, limit, used, period]) =>
    limit !== undefined && waitForUnitMs(limit, used, period) > 0 ? [name] : [],
  );
