/** Maps the provider's part numbers to parts, in order of appearance. */
export class PartNumbers {
  readonly #known: unknown[] = [];

  /** Undefined for a number not seen yet. */
  known(number: unknown): number | undefined {
    const at = this.#known.indexOf(number);
    return at === -1 ? undefined : at;
  }

  /** @param open called for a new number; returns its part */
  findOrOpen(number: unknown, open: () => number): number {
    const before = this.known(number);
    if (before !== undefined) return before;
    this.#known.push(number);
    return open();
  }
}
