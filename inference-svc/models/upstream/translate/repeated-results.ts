/** Joins several results of one call, which some clients write for a result of several parts, into one: no format allows more. */
import type { InputItem } from "../../../turn/request.ts";
import { type JsonObject, objects } from "../json.ts";

const isResult = (item: InputItem | undefined): boolean =>
  item?.type === "function_call_output" || item?.type === "custom_tool_call_output";

const isCall = ({ type }: InputItem): boolean => type === "function_call" || type === "custom_tool_call";

/** Whether there are results on both sides of this index, so those before it may have to be joined with those after it. */
export const isAmidResults = (input: readonly InputItem[], place: number): boolean =>
  isResult(input[place - 1]) && isResult(input[place]);

/**
 * Items of an input where each call has at most one result: of the results in a row, surplus ones are joined into the
 * call's first result. Some servers give two calls one id; such calls keep as many results. Each row is read once,
 * because a search for each result took seconds for some ten thousand.
 */
export class JoinedResults {
  readonly #input: readonly InputItem[];
  /** Index after the current row of results, and the items of the row that differ from the input, by their index. */
  #end = 0;
  #changed: ReadonlyMap<number, InputItem | undefined> | undefined;
  /** Number of calls in front of `#counted` that have no result yet, by their key. */
  readonly #open = new Map<string, number>();
  #counted = 0;

  constructor(input: readonly InputItem[]) {
    this.#input = input;
  }

  /**
   * The item at an index. Indices must be requested in ascending order, from one that is not within a row of results.
   * @returns undefined for a surplus result of a call, which is part of an earlier item
   */
  itemAt(index: number): InputItem | undefined {
    const item = this.#input[index] as InputItem;
    if (!isResult(item)) return item;
    if (index >= this.#end) this.#read(index);
    return this.#changed?.has(index) === true ? this.#changed.get(index) : item;
  }

  #read(start: number): void {
    let end = start + 1;
    while (isResult(this.#input[end])) end++;
    this.#end = end;
    this.#changed = undefined;
    if (end - start === 1) return;
    const row = this.#input.slice(start, end);
    if (new Set(row.map(nameOf)).size < row.length) this.#changed = this.#joinedRow(start, row);
  }

  #joinedRow(start: number, row: readonly InputItem[]): ReadonlyMap<number, InputItem | undefined> {
    this.#countOpen(start);
    const places = new Map<string, number[]>();
    for (const [index, item] of row.entries()) {
      const known = places.get(nameOf(item));
      if (known) known.push(index);
      else places.set(nameOf(item), [index]);
    }
    const changed = new Map<number, InputItem | undefined>();
    for (const [name, [first = 0, ...others]] of places) {
      const surplus = others.slice(Math.max(1, this.#open.get(name) ?? 0) - 1);
      if (surplus.length === 0) continue;
      changed.set(start + first, joined([first, ...surplus].map((index) => row[index] as InputItem)));
      for (const index of surplus) changed.set(start + index, undefined);
    }
    return changed;
  }

  #countOpen(end: number): void {
    for (; this.#counted < end; this.#counted++) {
      const item = this.#input[this.#counted] as InputItem;
      const change = isCall(item) ? 1 : isResult(item) ? -1 : 0;
      if (change === 0) continue;
      const name = nameOf(item);
      this.#open.set(name, Math.max(0, (this.#open.get(name) ?? 0) + change));
    }
  }
}

/** Key a call and its result share. */
const nameOf = ({ type, call_id: id }: InputItem): string => `${type.replace("_output", "")} ${String(id)}`;

/** Joins results into one, which has failed if one of them has. */
function joined(results: readonly InputItem[]): InputItem {
  const outputs = results.map(({ output }) => output);
  const output = outputs.every((each) => typeof each === "string") ? outputs.join("\n") : outputs.flatMap(partsOf);
  const failed = results.some(({ status }) => status === "incomplete");
  return { ...(results[0] as InputItem), output, ...(failed && { status: "incomplete" }) };
}

const partsOf = (output: unknown): readonly JsonObject[] =>
  typeof output === "string" ? [{ type: "input_text", text: output }] : objects(output);

/** Reason in the receipt after "repaired: ". */
export const joinedResult = "repaired: sent within the first result of its call, because a call has one";
