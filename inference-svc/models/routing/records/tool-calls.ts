/** The share of an endpoint's tool calls with arguments valid by the tool's schema; older calls count less. */

/** A call counts half after this time. */
const halfLifeMs = 60 * 60_000;
/** Minimum number of calls for a share: an endpoint that fails one in ten still gets twenty right with a chance of one in eight. */
const minCalls = 20;

export class ToolCallSuccess {
  #good = 0;
  #all = 0;
  #at = 0;

  /** @param now milliseconds */
  add(fits: boolean, now: number): void {
    this.#decay(now);
    this.#all += 1;
    if (fits) this.#good += 1;
  }

  /** From 0 to 1; undefined while there are too few calls. */
  share(now: number): number | undefined {
    this.#decay(now);
    return this.#all < minCalls ? undefined : this.#good / this.#all;
  }

  #decay(now: number): void {
    const factor = 0.5 ** ((now - this.#at) / halfLifeMs);
    this.#good *= factor;
    this.#all *= factor;
    this.#at = now;
  }
}
