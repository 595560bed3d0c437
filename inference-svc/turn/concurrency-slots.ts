/** Limits concurrency with slots, for which callers wait in the order of their arrival. */
export class ConcurrencySlots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Number of callers waiting for a slot. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Waits for a slot. @returns a function that releases it, to be called once; undefined when none was free in time */
  async take(waitMs: number): Promise<(() => void) | undefined> {
    if (this.#free > 0) this.#free--;
    else if (!(await this.#wait(waitMs))) return undefined;
    return this.#release;
  }

  #wait(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const enter = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(enter);
        resolve(false);
      }, waitMs);
      this.#waiting.add(enter);
    });
  }

  /** Gives the slot to the caller that has waited longest. */
  readonly #release = (): void => {
    const next = this.#waiting.values().next();
    if (next.done === true) return void this.#free++;
    this.#waiting.delete(next.value);
    next.value();
  };
}
