/** Lets so many questions out at a time. What was never asked needs not be taken back: better to wait here than on the way. */

export class Turnstile {
  readonly #limitMs: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  /** @param limitMs how long anybody waits to be let through */
  constructor(places: number, limitMs: number) {
    this.#free = places;
    this.#limitMs = limitMs;
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws Error when its time was over before there was a place; then the work was not begun */
  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await this.#place();
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #place(): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(enter);
        reject(new Error(`no place within ${this.#limitMs} ms`));
      }, this.#limitMs);
      this.#waiting.add(enter);
    });
  }

  /** The place goes to whoever has waited longest. */
  #leave(): void {
    const next = this.#waiting.values().next();
    if (next.done === true) return void this.#free++;
    this.#waiting.delete(next.value);
    next.value();
  }
}
