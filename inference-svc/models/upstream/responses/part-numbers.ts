/** Numbers parts in the order of appearance, by the provider's own part numbers. */
export class PartNumbers {
  readonly #known: unknown[] = [];

  /** The part with this number of the provider. @returns undefined for a new number */
  known(number: unknown): number | undefined {
    const at = this.#known.indexOf(number);
    return at === -1 ? undefined : at;
  }

  /** The part with this number of the provider. @param open called for a new number; returns its part */
  findOrOpen(number: unknown, open: () => number): number {
    const before = this.known(number);
    if (before !== undefined) return before;
    this.#known.push(number);
    return open();
  }
}
