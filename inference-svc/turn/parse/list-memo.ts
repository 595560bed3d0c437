/** Caches results computed from an input, because every endpoint of a model needs them, and a conversation repeats its items. */
import type { InputItem } from "../request.ts";
import { knownItemsOf } from "./beginnings.ts";

type Input = readonly InputItem[];

/**
 * A result stored on the list of items itself. In a WeakMap, keys survive young garbage collections, each of which then
 * took twice as long (Node 20). Copies of a list lack the result.
 */
export class ListMemo<Result extends boolean | object> {
  readonly #key = Symbol("memo");
  readonly #none: Result;
  readonly #add: (before: Result, input: Input, from: number) => Result;

  /**
   * @param none result for an empty input
   * @param add returns the result for all items, given the result for those before the index `from`, which it must not
   * change. The result may depend only on the list, which must not change afterwards
   */
  constructor(none: Result, add: (before: Result, input: Input, from: number) => Result) {
    this.#none = none;
    this.#add = add;
  }

  of(input: Input): Result {
    const marked = input as Input & { [key: symbol]: Result | undefined };
    let result = marked[this.#key];
    if (result === undefined) marked[this.#key] = result = this.#compute(input);
    return result;
  }

  #compute(input: Input): Result {
    const beginning = knownItemsOf(input);
    return beginning ? this.#add(this.of(beginning), input, beginning.length) : this.#add(this.#none, input, 0);
  }
}
