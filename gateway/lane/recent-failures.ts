/**
 * Turns of an inference process that have failed lately. Each counts as several open turns, because a process that fails at once has no open turns, and
 * would get all the others.
 */

/** Open turns that a failure counts for. With eight clients that never pause, a process that fails at once gets one turn in twenty. */
const weight = 4;
/** Time in which the count falls by half: a process that works again has its share within ten seconds. */
const halfLifeMs = 2_000;
/** Below this the count is 0: then the process is tried again. */
const least = 0.5;

export class RecentFailures {
  #count = 0;
  #countedAt = 0;

  /** Load that the failures stand for, in open turns. */
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
