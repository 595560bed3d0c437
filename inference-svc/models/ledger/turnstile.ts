/** Limits how many calls run at the same time. A call waiting here was never sent, so a timeout needs no undoing. */

export class ConcurrencyLimit {
  readonly #limitMs: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  /** @param limitMs longest wait for a place */
  constructor(places: number, limitMs: number) {
    this.#free = places;
    this.#limitMs = limitMs;
  }

  /** Number of calls waiting for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws Error when no place became free in time: then the work was not begun */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
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

  /** Passes the place to the call with the longest wait. */
  #leave(): void {
    const next = this.#waiting.values().next();
    if (next.done === true) return void this.#free++;
    this.#waiting.delete(next.value);
    next.value();
  }
}
