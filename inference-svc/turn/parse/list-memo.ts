/** Remembers what was computed from a list, such as the input of a request that every endpoint of a model asks about. */

/**
 * The result stands on the list itself: a WeakMap keeps its keys alive through young collections, each of which took twice as long (Node 20).
 * No copy of a list has it.
 */
export class ListMemo<Item, Result> {
  readonly #key = Symbol("memo");
  readonly #compute: (list: readonly Item[]) => Result;

  /** @param compute must depend on the list alone, which nobody changes afterwards */
  constructor(compute: (list: readonly Item[]) => Result) {
    this.#compute = compute;
  }

  of(list: readonly Item[]): Result {
    const marked = list as readonly Item[] & { [key: symbol]: Result | undefined };
    let result = marked[this.#key];
    if (result === undefined) marked[this.#key] = result = this.#compute(list);
    return result;
  }
}
