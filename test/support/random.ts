/** Reproducible random numbers: the same seed gives the same numbers. */

export class Random {
  #state: number;

  constructor(...seeds: readonly number[]) {
    this.#state = 0x9e37_79b9;
    for (const seed of seeds) {
      this.#state = Math.imul(this.#state ^ seed, 0x85eb_ca6b) ^ (this.#state >>> 13);
      this.next();
    }
  }

  /** A number from 0 to below 1, by the algorithm mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** Time until the next event of a Poisson process. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }
}
