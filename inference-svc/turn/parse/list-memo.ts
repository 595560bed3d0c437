/** Caches results computed from an input: every endpoint of a model needs them, and a conversation repeats its items. */
import type { InputItem } from "../request.ts";
import { knownItemsOf } from "./beginnings.ts";

type Input = readonly InputItem[];

/**
 * The result is stored on the list itself: a WeakMap keeps its keys alive through young collections, and each of these took twice as long (Node
 * 20). Copies of a list do not have it.
 */
export class ListMemo<Result extends boolean | object> {
  readonly #key = Symbol("memo");
  readonly #none: Result;
  readonly #add: (before: Result, input: Input, from: number) => Result;

  /**
   * @param none result of an empty input
   * @param add extends the result of the items before `from` to all items, without changing it. The result must depend only on the list, and the
   * list must not change afterwards
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
