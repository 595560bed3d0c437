/** A turn's place in the rate limits by model, from its first use of one of the models to its end. */
import { dayMs, periodMs, waitForUnitMs } from "./bucket.ts";
import { type BucketUse, type JointDecision, type LimitName, refusalOf } from "./decision.ts";
import type { KeyLimits } from "./settings.ts";

/** Rate limits of a group of models, for one key or for all keys of a workspace together. */
export interface ModelLimitRow {
  /** Id of the counts; all keys of a workspace have the same one for limits that they share. */
  readonly id: string;
  readonly limits: KeyLimits;
}

/** What a turn has used, at its end, of the models of one row. */
export interface TurnEnd {
  readonly tokens: number;
  /** Whether no model of the row was called, so the request must not count. */
  readonly isUnused: boolean;
}

export const nothingUsed: TurnEnd = { tokens: 0, isUnused: false };

/** Of the exhausted limits, the one that keeps the turn waiting longest. */
export interface ReachedLimit {
  /** Index of the row with the limit. */
  readonly index: number;
  readonly limit: LimitName;
  readonly maximum: number;
  readonly retryAfterMs: number;
  /**
   * Milliseconds until the limit is fully available again; undefined for a limit of concurrent turns, whose end is
   * unknown.
   */
  readonly resetMs: number | undefined;
}

/** Minimum milliseconds before a retry, when another process has taken the last unit. */
const minRetryAfterMs = 1_000;

/** Ends the turn in the limits of some rows, given by index; all rows by default. */
type LeaveRows = (ends: readonly TurnEnd[], rows?: readonly number[]) => void;

export class JointAdmission {
  /** The exhausted limit; undefined when the turn may use the models. */
  readonly reached: ReachedLimit | undefined;
  readonly #left: LeaveRows | undefined;

  constructor(rows: readonly ModelLimitRow[], decision: JointDecision, left?: LeaveRows) {
    this.reached = reachedLimit(rows, decision);
    this.#left = left;
  }

  /**
   * Ends the turn in the limits of all rows at once, or of some rows earlier; once for each row.
   * @param ends use of each row; absent for a row whose models were called but used no tokens
   * @param rows indexes of the rows; all by default
   */
  leave(ends: readonly TurnEnd[], rows?: readonly number[]): void {
    this.#left?.(ends, rows);
  }
}

/**
 * The exhausted limit to report. Several may be exhausted at once, and a client that waited only for the first would be
 * refused by the next.
 */
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

/** For each limit, its field in KeyLimits and its bucket. */
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
