/** The provider's part numbers, in the order in which they turn up. */
export class PartNumbers {
  readonly #known: unknown[] = [];

  /** @param open called for a number that is new; gives its part */
  of(number: unknown, open: () => number): number {
    const at = this.#known.indexOf(number);
    if (at !== -1) return at;
    this.#known.push(number);
    return open();
  }
}
