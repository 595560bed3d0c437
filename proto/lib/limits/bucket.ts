/**
 * Buckets that refill over a minute or a day: the whole limit at once, then evenly (the generic cell rate algorithm).
 *
 * A bucket is a single time: the moment until which its use is paid for. Its distance from now gives the remainder under any limit, so a limit may change
 * at any time: the used share of a minute stays. The used units of a day stay, because a raised limit has to help at once.
 */

/** Refill time of a bucket by the minute. */
export const periodMs = 60_000;
/** Refill time of a bucket by the day. */
export const dayMs = 86_400_000;
/** Use beyond this time ahead is forgiven, which bounds the wait. */
const maxAheadMs = 3_600_000;
/** The same for a bucket by the day. */
const maxDayAheadMs = 2 * dayMs;
/** Tolerance in units: sums of fractions miss the last unit by less. */
const tolerance = 0.01;

/** Time by which one unit moves a bucket ahead. */
const stepMs = (limit: number, period: number): number => period / limit;

/** The part of a limit that is available to a process. @param share at most 1 */
export const sharedPart = (limit: number, share: number): number => Math.max(1, Math.floor(limit * share));

/** Remaining whole units. */
export const remainingUnits = (limit: number, aheadMs: number, period = periodMs): number =>
  Math.max(0, Math.floor((period - aheadMs) / stepMs(limit, period) + tolerance));

/** Time until a unit is free; 0 when a unit is free now. */
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

  /** @param now milliseconds of a monotonic clock */
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

/** A bucket by the day. A lowered limit may be raised again, so the use stays under the higher limit as long as no request is admitted under the lower one. */
export class DayBucket extends Bucket {
  /** The limit under which its time counts; 0 while unknown. */
  limit = 0;

  constructor() {
    super(dayMs, maxDayAheadMs);
  }

  /** The use under a present limit, within bounds. */
  aheadUnder(limit: number, now: number): number {
    const ahead = this.aheadMs(now);
    return this.limit === 0 || this.limit === limit ? ahead : Math.min(maxDayAheadMs, (ahead * this.limit) / limit);
  }

  /** Counts under another limit, where its remainder allows a request. */
  follow(limit: number, now: number): void {
    if (this.limit !== limit && this.limit !== 0) this.set((this.aheadMs(now) * this.limit) / limit, now);
    this.limit = limit;
  }

  /** Takes units under the limit of its time. */
  takePart(units: number, share: number, now: number): void {
    this.take(units, sharedPart(this.limit, share), now);
  }

  /**
   * Takes units of a turn that began under a limit, which may have changed meanwhile. The limit of its time stays, except where it would forgive units
   * that the higher limit keeps. An empty bucket takes the lower limit, under which units come back later.
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
