/**
 * Buckets that refill over a minute: the whole limit at once, then evenly (the generic cell rate algorithm).
 *
 * A bucket is a single time: the moment until which its use is paid for. Its distance from now gives the remainder under any limit, so a limit may change
 * at any time.
 */

/** Refill time of a bucket. */
export const periodMs = 60_000;
/** Use beyond this time ahead is forgiven, which bounds the wait. */
const maxAheadMs = 3_600_000;
/** Tolerance in units: sums of fractions miss the last unit by less. */
const tolerance = 0.01;

/** Time by which one unit moves a bucket ahead. */
const stepMs = (limit: number): number => periodMs / limit;

/** Remaining whole units. */
export const remainingUnits = (limit: number, aheadMs: number): number =>
  Math.max(0, Math.floor((periodMs - aheadMs) / stepMs(limit) + tolerance));

/** Time until a unit is free; 0 when a unit is free now. */
export const waitForUnitMs = (limit: number, aheadMs: number): number =>
  remainingUnits(limit, aheadMs) > 0 ? 0 : Math.max(1, Math.ceil(aheadMs + stepMs(limit) - periodMs));

export class Bucket {
  #paidUntil = 0;

  /** @param now milliseconds of a monotonic clock */
  aheadMs(now: number): number {
    return Math.max(0, this.#paidUntil - now);
  }

  take(units: number, limit: number, now: number): void {
    this.set(this.aheadMs(now) + units * stepMs(limit), now);
  }

  set(aheadMs: number, now: number): void {
    this.#paidUntil = now + Math.min(maxAheadMs, aheadMs);
  }
}
