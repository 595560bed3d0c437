/**
 * A circuit breaker for models that do not respond, so not every request waits for the time limit: after five failures
 * in 30 s, calls stop for 15 s.
 */
const failuresAtMost = 5;
const windowMs = 30_000;
const restMs = 15_000;

export class Circuit {
  readonly #now: () => number;
  #failedAt: number[] = [];
  #openUntil = Number.NEGATIVE_INFINITY;

  /** @param now returns the time in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether calls are stopped. When they resume, the next failure counts as the first. */
  get open(): boolean {
    return this.#now() < this.#openUntil;
  }

  succeeded(): void {
    this.#failedAt = [];
  }

  failed(): void {
    const now = this.#now();
    this.#failedAt = [...this.#failedAt.filter((at) => now - at < windowMs), now];
    if (this.#failedAt.length < failuresAtMost) return;
    this.#failedAt = [];
    this.#openUntil = now + restMs;
  }
}
