/** Numbers parts in the order of appearance, by the provider's own part numbers. */
export class PartNumbers {
  readonly #known: unknown[] = [];
  /** Present once the parts are many: then a search through the list takes longer. */
  #places: Map<unknown, number> | undefined;

  /** The part with this number of the provider. @returns undefined for a new number */
  known(number: unknown): number | undefined {
    if (this.#places) return this.#places.get(number);
    const at = this.#known.indexOf(number);
    return at === -1 ? undefined : at;
  }

  /** The part with this number of the provider. @param open called for a new number; returns its part */
  findOrOpen(number: unknown, open: () => number): number {
    const before = this.known(number);
    if (before !== undefined) return before;
    const at = this.#known.push(number) - 1;
    if (this.#places) this.#places.set(number, at);
    else if (this.#known.length > maxListed) this.#places = new Map(this.#known.map((each, place) => [each, place]));
    return open();
  }
}

/** Most numbers searched one by one. */
const maxListed = 16;
