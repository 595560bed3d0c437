/**
 * Buckets that a minute fills: as many units as the limit at once, then evenly (the generic cell rate algorithm).
 *
 * A bucket is one time: until when what was taken is paid for. How far that is ahead of now says how much is left, whatever the limit is, so that
 * a limit may change under way.
 */

/** In which a bucket fills. */
export const periodMs = 60_000;
/** Of what was taken beyond the limit, more than this is forgiven: nobody waits longer. */
const mostAheadMs = 3_600_000;
/** Of one unit: sums of fractions miss the last unit by less. */
const tolerance = 0.01;

/** What one unit puts a bucket ahead. */
const stepMs = (limit: number): number => periodMs / limit;

/** Whole units that are left. */
export const remainingOf = (limit: number, aheadMs: number): number =>
  Math.max(0, Math.floor((periodMs - aheadMs) / stepMs(limit) + tolerance));

/** Until one unit is left; 0 while one is. */
export const waitMs = (limit: number, aheadMs: number): number =>
  remainingOf(limit, aheadMs) > 0 ? 0 : Math.max(1, Math.ceil(aheadMs + stepMs(limit) - periodMs));

export class Bucket {
  #paidUntil = 0;

  /** @param now milliseconds of a clock that only goes forward */
  aheadMs(now: number): number {
    return Math.max(0, this.#paidUntil - now);
  }

  take(units: number, limit: number, now: number): void {
    this.set(this.aheadMs(now) + units * stepMs(limit), now);
  }

  set(aheadMs: number, now: number): void {
    this.#paidUntil = now + Math.min(mostAheadMs, aheadMs);
  }
}
