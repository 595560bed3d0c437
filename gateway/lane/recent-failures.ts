/**
 * Recent failures of an inference process. Each failure counts as several open turns: a process that fails at once has no open turns, and would
 * otherwise get all new turns.
 */

/** Number of open turns that a failure counts as. With eight clients that never pause, a process that fails at once gets one turn in twenty. */
const weight = 4;
/** Half-life of the failure count in milliseconds: within ten seconds a recovered process has its full share again. */
const halfLifeMs = 2_000;
/** Count below which failures are forgotten, so that the process is tried again. */
const least = 0.5;

export class RecentFailures {
  #count = 0;
  #countedAt = 0;

  /** Load of the failures, in open turns. */
  get load(): number {
    if (this.#count === 0) return 0;
    const now = performance.now();
    this.#count *= 0.5 ** ((now - this.#countedAt) / halfLifeMs);
    this.#countedAt = now;
    if (this.#count < least) this.#count = 0;
    return this.#count * weight;
  }

  note(): void {
    this.#count = this.load / weight + 1;
    this.#countedAt = performance.now();
  }
}
