/** Limits concurrency; callers wait in order of arrival. */
export class ConcurrencySlots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** @returns a function to release the slot, to be called once; undefined when none was free in time */
  async take(waitMs: number): Promise<(() => void) | undefined> {
    if (this.#free > 0) this.#free--;
    else if (!(await this.#wait(waitMs))) return undefined;
    return () => {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
  }

  #wait(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const called = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(called), 1);
        resolve(false);
      }, waitMs);
      this.#waiting.push(called);
    });
  }
}
