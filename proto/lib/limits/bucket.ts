/**
 * Rate limit buckets, by the generic cell rate algorithm: the whole limit is available at once, and used units return
 * evenly over a minute or a day.
 *
 * The state of a bucket is a single time, until which its use is paid for. How far it is ahead of now gives the
 * remaining units under any limit, so limits may change at any time. For a limit by the minute, the used share stays
 * the same after a change; for a limit by the day, the number of used units does, because a raised limit has to help at
 * once.
 */

/** Milliseconds in which a bucket for a limit by the minute refills. */
export const periodMs = 60_000;
/** Milliseconds in which a bucket for a limit by the day refills. */
export const dayMs = 86_400_000;
/** Maximum time that a bucket may be ahead; use beyond it is forgiven, which limits the wait. */
const maxAheadMs = 3_600_000;
/** Maximum time that a bucket for a limit by the day may be ahead. */
const maxDayAheadMs = 2 * dayMs;
/** Tolerance in units for rounding: sums of fractions miss the last unit by less. */
const tolerance = 0.01;

/** Milliseconds by which one unit moves a bucket ahead. */
const stepMs = (limit: number, period: number): number => period / limit;

/** The part of a limit that one process may use. @param share at most 1 */
export const sharedPart = (limit: number, share: number): number => Math.max(1, Math.floor(limit * share));

/** Number of whole units that remain. @param aheadMs how far the bucket is ahead */
export const remainingUnits = (limit: number, aheadMs: number, period = periodMs): number =>
  Math.max(0, Math.floor((period - aheadMs) / stepMs(limit, period) + tolerance));

/** Milliseconds until a unit is free; 0 when one is free now. */
export const waitForUnitMs = (limit: number, aheadMs: number, period = periodMs): number =>
  remainingUnits(limit, aheadMs, period) > 0 ? 0 : Math.max(1, Math.ceil(aheadMs + stepMs(limit, period) - period));

export class Bucket {
  #paidUntil = 0;
  readonly #period: number;
  readonly #maxAheadMs: number;

  constructor(period = periodMs, maxAhead = maxAheadMs) {
    this.#period = period;
    this.#maxAheadMs = maxAhead;
  }

  /** How far the bucket is ahead, in milliseconds. @param now milliseconds of a monotonic clock */
  aheadMs(now: number): number {
    return Math.max(0, this.#paidUntil - now);
  }

  take(units: number, limit: number, now: number): void {
    const ahead = this.aheadMs(now);
    const most = Math.max(ahead, this.#maxAheadMs);
    this.set(Math.min(most, ahead + units * stepMs(limit, this.#period)), now);
  }

  set(aheadMs: number, now: number): void {
    this.#paidUntil = now + aheadMs;
  }
}

/**
 * A bucket for a limit by the day. Its use is measured under a limit, and stays under that limit after a change until
 * the new limit admits a request, because a lowered limit may be raised again.
 */
export class DayBucket extends Bucket {
  /** The limit under which the bucket's time is measured; 0 while unknown. */
  limit = 0;

  constructor() {
    super(dayMs, maxDayAheadMs);
  }

  /** How far the bucket is ahead when measured under another limit, up to the maximum. */
  aheadUnder(limit: number, now: number): number {
    const ahead = this.aheadMs(now);
    return this.limit === 0 || this.limit === limit ? ahead : Math.min(maxDayAheadMs, (ahead * this.limit) / limit);
  }

  /** Measures the use under a new limit from now on. */
  follow(limit: number, now: number): void {
    if (this.limit !== limit && this.limit !== 0) this.set((this.aheadMs(now) * this.limit) / limit, now);
    this.limit = limit;
  }

  /** Takes units under the limit by which the bucket is measured. */
  takePart(units: number, share: number, now: number): void {
    this.take(units, sharedPart(this.limit, share), now);
  }

  /**
   * Takes units of a turn that began under another limit. The bucket keeps the limit by which it is measured, unless
   * that would forgive units that the higher limit keeps. An empty bucket takes the lower limit, under which units
   * return later.
   */
  charge(units: number, limit: number, share: number, now: number): void {
    const ahead = this.aheadMs(now);
    const known = this.limit || limit;
    const low = ahead === 0 ? Math.min(known, limit) : known;
    const isWithin = ahead + units * stepMs(sharedPart(low, share), dayMs) <= maxDayAheadMs;
    this.follow(isWithin ? low : Math.max(known, limit), now);
    this.takePart(units, share, now);
  }
}
