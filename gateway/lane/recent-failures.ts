/**
 * Recent failures of an inference process. Each counts as several open turns, because a process that fails at once has no open turns, and would otherwise
 * get all new turns.
 */

/** Open turns per failure. With eight clients that never pause, a process that fails at once gets one turn in twenty. */
const weight = 4;
/** Half-life of the count: a recovered process has its full share again within ten seconds. */
const halfLifeMs = 2_000;
/** Below this, the count is 0: the process is then tried again. */
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
