/** What of a text is to be replaced. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Pauses } from "../../turn/breath.ts";
import type { Rule } from "../policy.ts";

/** Stretches of a text that are put together without others getting their turn, and places that are put in order: a millisecond. */
const piecesAtOnce = 8_192;
const mergedAtOnce = 16_384;

interface Region {
  readonly start: number;
  end: number;
  /** Length of the longest match in it. */
  longest: number;
  placeholder: string;
}

export class Redactions {
  // Three arrays and not one of objects: a short pattern can match a million times.
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #rules: Rule[] = [];

  /** Where what was found from left to right begins again. */
  readonly #runs: number[] = [0];

  add({ start, end }: Span, rule: Rule): void {
    const last = this.#starts.length - 1;
    // Views of one text find much the same.
    if (this.#starts[last] === start && this.#ends[last] === end) return;
    if (start < (this.#starts[last] ?? 0)) this.#runs.push(last + 1);
    this.#starts.push(start);
    this.#ends.push(end);
    this.#rules.push(rule);
  }

  /** Matches that overlap are replaced together, by the placeholder of the longest; of several as long by that which was found first. */
  *apply(text: string): Pauses<string> {
    const pieces: string[] = [];
    let said: string[] = [];
    let at = 0;
    for (const { start, end, placeholder } of this.#regions(yield* this.#inOrder())) {
      said.push(text.slice(at, start), placeholder);
      at = end;
      if (said.length < piecesAtOnce) continue;
      pieces.push(said.join(""));
      said = [];
      yield;
    }
    return pieces.join("") + said.join("") + text.slice(at);
  }

  /** By start; what was found first comes first. */
  *#inOrder(): Pauses<Uint32Array> {
    let order = new Uint32Array(this.#starts.length);
    for (let at = 0; at < order.length; at++) {
      if (at % mergedAtOnce === 0) yield;
      order[at] = at;
    }
    let runs = this.#runs;
    while (runs.length > 1) {
      const merged = new Uint32Array(order.length);
      const starts: number[] = [];
      for (let run = 0; run < runs.length; run += 2) {
        const from = runs[run] as number;
        starts.push(from);
        yield* this.#merge(order, merged, [from, runs[run + 1] ?? order.length, runs[run + 2] ?? order.length]);
      }
      order = merged;
      runs = starts;
    }
    return order;
  }

  /** Two runs next to each other. */
  *#merge(order: Uint32Array, into: Uint32Array, [from, middle, end]: readonly [number, number, number]): Pauses {
    let left = from;
    let right = middle;
    for (let at = from; at < end; at++) {
      if (at % mergedAtOnce === 0) yield;
      const isLeft = right === end || (left < middle && this.#startAt(order, left) <= this.#startAt(order, right));
      into[at] = order[isLeft ? left++ : right++] as number;
    }
  }

  #startAt(order: Uint32Array, at: number): number {
    return this.#starts[order[at] as number] as number;
  }

  *#regions(order: Uint32Array): Iterable<Region> {
    let open: Region | undefined;
    for (const index of order) {
      const start = this.#starts[index] as number;
      const end = this.#ends[index] as number;
      const { placeholder } = this.#rules[index] as Rule;
      if (open === undefined || start >= open.end) {
        if (open) yield open;
        open = { start, end, longest: end - start, placeholder };
        continue;
      }
      open.end = Math.max(open.end, end);
      if (end - start <= open.longest) continue;
      open.longest = end - start;
      open.placeholder = placeholder;
    }
    if (open) yield open;
  }
}
