/** Several results of one call, as some clients write a result of several parts, are one result to every format. */
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, objects } from "../json.ts";

const isResult = (item: InputItem | undefined): boolean =>
  item?.type === "function_call_output" || item?.type === "custom_tool_call_output";

/** The results of one call. */
interface Results {
  /** Place of the first one. */
  readonly first: number;
  readonly outputs: unknown[];
}

/**
 * Items of an input with the results of a call joined into the first of them, where they stand among other results. The results of a run are gathered once: a
 * search for each of them took seconds for an input of some ten thousand.
 */
export class JoinedResults {
  readonly #input: readonly InputItem[];
  /** The present run of results: the place behind it, and the results of its calls by their names. */
  #end = 0;
  #calls: Map<string, Results> | undefined;

  constructor(input: readonly InputItem[]) {
    this.#input = input;
  }

  /**
   * Places are asked for in ascending order.
   * @returns undefined for a further result of a call, which is part of an earlier item
   */
  itemAt(index: number): InputItem | undefined {
    const item = this.#input[index] as InputItem;
    if (!isResult(item)) return item;
    if (index >= this.#end) this.#open(index);
    if (this.#calls === undefined) return item;
    const { first, outputs } = this.#calls.get(nameOf(item)) as Results;
    if (first !== index) return undefined;
    return outputs.length === 1 ? item : { ...item, output: joined(outputs) };
  }

  /** Reads the run around a result, from its beginning: the first results may belong to a beginning that was written before. */
  #open(index: number): void {
    let start = index;
    let end = index + 1;
    while (isResult(this.#input[start - 1])) start--;
    while (isResult(this.#input[end])) end++;
    this.#end = end;
    this.#calls = undefined;
    if (end - start === 1) return;
    this.#calls = new Map();
    for (let at = start; at < end; at++) {
      const item = this.#input[at] as InputItem;
      const known = this.#calls.get(nameOf(item));
      if (known) known.outputs.push(item.output);
      else this.#calls.set(nameOf(item), { first: at, outputs: [item.output] });
    }
  }
}

const nameOf = ({ type, call_id: id }: InputItem): string => `${type} ${String(id)}`;

const joined = (outputs: readonly unknown[]): unknown =>
  outputs.every((output) => typeof output === "string") ? outputs.join("\n") : outputs.flatMap(partsOf);

const partsOf = (output: unknown): readonly JsonObject[] =>
  typeof output === "string" ? [{ type: "input_text", text: output }] : objects(output);

/** Completes "repaired: ". */
export const joinedResult = "repaired: sent within the first result of its call, because a call has one";
