/** The provider's part numbers, in the order in which they turn up. */
export class PartNumbers {
  readonly #known: unknown[] = [];

  /** Undefined for one that has not turned up. */
  known(number: unknown): number | undefined {
    const at = this.#known.indexOf(number);
    return at === -1 ? undefined : at;
  }

  /** @param open called for a number that is new; gives its part */
  of(number: unknown, open: () => number): number {
    const before = this.known(number);
    if (before !== undefined) return before;
    this.#known.push(number);
    return open();
  }
}
