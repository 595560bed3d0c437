/** Stops asking a model that does not answer, so that its time limit is not waited for in every request: five failures in 30 s, and it rests for 15 s. */
const failuresAtMost = 5;
const windowMs = 30_000;
const restMs = 15_000;

export class Circuit {
  readonly #now: () => number;
  #failedAt: number[] = [];
  #openUntil = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** After its rest it is asked again: the next failure is then the first. */
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
