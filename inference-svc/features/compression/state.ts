/** An input that is being shortened. */
import { isSignedBy, withBrokenSeal } from "../../turn/parse/broken-seals.ts";
import type { InputItem } from "../../turn/request.ts";
import { type GroupedUnits, type Unit, groupUnits } from "./units.ts";

/** The steps of compression, in the order of their use. */
export const stepNames = ["tool_outputs", "media", "duplicates", "reasoning", "units", "texts"] as const;

export type StepName = (typeof stepNames)[number];

export class State {
  readonly #items: (InputItem | undefined)[];
  readonly #tokens: number[];
  readonly #tokensOf: (item: InputItem) => number;
  /** Indices of the items removed together with their unit. */
  readonly #omitted = new Set<number>();
  readonly grouped: GroupedUnits;
  readonly steps = new Set<StepName>();
  /** Tokens of the items added so far. */
  total: number;

  /** @param fixedTokens tokens of everything before the input */
  constructor(input: readonly InputItem[], fixedTokens: number, tokensOf: (item: InputItem) => number) {
    this.#items = [...input];
    this.#tokensOf = tokensOf;
    this.#tokens = input.map(tokensOf);
    this.grouped = groupUnits(input);
    this.total = this.grouped.pinned.reduce((sum, index) => sum + this.#at(index), fixedTokens);
  }

  #at(index: number): number {
    return this.#tokens[index] as number;
  }

  take({ indices }: Unit): void {
    for (const index of indices) this.total += this.#at(index);
  }

  /** The item at this index; undefined once removed. */
  item(index: number): InputItem | undefined {
    return this.#items[index];
  }

  set(index: number, item: InputItem | undefined, step: StepName): void {
    const tokens = item === undefined ? 0 : this.#tokensOf(item);
    this.total += tokens - this.#at(index);
    this.#tokens[index] = tokens;
    this.#items[index] = item;
    const before = this.#items[index - 1];
    if (item && before && isSignedBy(before, item)) this.#items[index - 1] = withBrokenSeal(before);
    this.steps.add(step);
  }

  omit({ indices }: Unit): void {
    for (const index of indices) {
      this.set(index, undefined, "units");
      this.#omitted.add(index);
    }
  }

  has({ indices }: Unit): boolean {
    return !this.#omitted.has(indices[0] as number);
  }

  /** The remaining items, with a note where units are missing. A note never stands between a call and its output. */
  written(): readonly InputItem[] {
    const starts = new Set([...this.grouped.pinned, ...this.grouped.units.map(({ indices }) => indices[0])]);
    const written: InputItem[] = [];
    let omitted = 0;
    for (const [index, item] of this.#items.entries()) {
      if (this.#omitted.has(index)) omitted++;
      if (item === undefined) continue;
      if (omitted > 0 && starts.has(index)) {
        written.push(markerOf(omitted));
        omitted = 0;
      }
      written.push(item);
    }
    return written;
  }
}

const markerOf = (count: number): InputItem => ({
  type: "message",
  role: "user",
  content: `[${count} earlier ${count === 1 ? "item" : "items"} omitted]`,
});
