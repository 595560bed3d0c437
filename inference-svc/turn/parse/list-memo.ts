/** Remembers what was computed from an input, which every endpoint of a model asks about, and which a conversation repeats. */
import type { InputItem } from "../request.ts";
import { beginningOf } from "./beginnings.ts";

type Input = readonly InputItem[];

/**
 * The result stands on the list itself: a WeakMap keeps its keys alive through young collections, each of which took twice as long (Node 20).
 * No copy of a list has it.
 */
export class ListMemo<Result extends boolean | object> {
  readonly #key = Symbol("memo");
  readonly #none: Result;
  readonly #add: (before: Result, input: Input, from: number) => Result;

  /**
   * @param none result of an empty input
   * @param add given the result of the items before `from`, which must stay as it is, returns that of all items. It must depend on the list
   * alone, which nobody changes afterwards
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
    const beginning = beginningOf(input);
    return beginning ? this.#add(this.of(beginning), input, beginning.length) : this.#add(this.#none, input, 0);
  }
}
