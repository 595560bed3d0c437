/**
 * Limits retries at an endpoint. Failed retries are at most a fifth of its requests of the last ten seconds, or a small
 * number, so an outage costs the provider hardly more than usual. A retry is any attempt after a failed one, at the
 * same endpoint or another. Successful retries are free: a healthy endpoint may take over without limit.
 */
import { RollingCounts } from "../records/rolling-counts.ts";

const slots = 10;
const slotMs = 1_000;
const share = 0.2;
/**
 * Number of failed retries always allowed while the endpoint is ejected. More are allowed while it is in use, because a
 * few failures prove little.
 */
const minRetries = 3;
const minRetriesInUse = 10;

const request = 0;
const failedRepeat = 1;

export class RetryBudget {
  readonly #counts = new RollingCounts(2, slots, slotMs);
  /** Number of running retries that are likely to fail, because the attempt before them failed at the same endpoint. */
  #doubtful = 0;

  /** Counts the first attempt of a request. @param now time in milliseconds */
  countRequest(now: number): void {
    this.#counts.add(request, now);
  }

  allows(inUse: boolean, now: number): boolean {
    const counts = this.#counts.sum(now);
    const few = inUse ? minRetriesInUse : minRetries;
    return counts[failedRepeat]! + this.#doubtful < Math.max(few, share * counts[request]!);
  }

  /** Begins a retry. @returns a function that ends it */
  beginRetry(doubtful: boolean): (failed: boolean, now: number) => void {
    if (doubtful) this.#doubtful++;
    return (failed, now) => {
      if (doubtful) this.#doubtful--;
      if (failed) this.#counts.add(failedRepeat, now);
    };
  }
}
