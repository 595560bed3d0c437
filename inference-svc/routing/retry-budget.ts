/**
 * How much may be asked again at an endpoint: attempts that follow on a failed one, there or elsewhere, and that fail as well, are at most a
 * fifth of its requests of the last ten seconds, or a few. An outage then costs the provider hardly more than usual. What follows on a failure
 * and succeeds costs nothing: whoever stands in for others may do so without limit.
 */
import { RollingCounts } from "./rolling-counts.ts";

const slots = 10;
const slotMs = 1_000;
const share = 0.2;
/** A house with few requests needs some more, as long as the endpoint is in use: few failures in a row say little. */
const atLeast = 3;
const atLeastInUse = 10;

const request = 0;
const failedRepeat = 1;

export class RetryBudget {
  readonly #counts = new RollingCounts(2, slots, slotMs);
  /** Repeats that will probably fail, as the last attempt did. */
  #doubtful = 0;

  /** The first attempt of a request. @param now milliseconds */
  request(now: number): void {
    this.#counts.add(request, now);
  }

  allows(inUse: boolean, now: number): boolean {
    const counts = this.#counts.sum(now);
    const few = inUse ? atLeastInUse : atLeast;
    return counts[failedRepeat]! + this.#doubtful < Math.max(few, share * counts[request]!);
  }

  /** A repeat begins. @returns what it is ended with */
  begin(doubtful: boolean): (failed: boolean, now: number) => void {
    if (doubtful) this.#doubtful++;
    return (failed, now) => {
      if (doubtful) this.#doubtful--;
      if (failed) this.#counts.add(failedRepeat, now);
    };
  }
}
