/** The share of an endpoint's tool calls whose arguments are valid by the tool's schema; older calls count less. */

/** Milliseconds after which a call counts half. */
const halfLifeMs = 60 * 60_000;
/** Minimum number of calls for a share: an endpoint that fails one call in ten gets twenty right with a chance of one in eight. */
const minCalls = 20;

export class ToolCallSuccess {
  #good = 0;
  #all = 0;
  #at = 0;

  /** @param fits whether the arguments are valid @param now time in milliseconds */
  add(fits: boolean, now: number): void {
    this.#decay(now);
    this.#all += 1;
    if (fits) this.#good += 1;
  }

  /** Share of valid calls, from 0 to 1; undefined while there are too few calls. */
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
