/** Collects the spans of one text that are to be redacted, and replaces them. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { Yielding } from "../../../turn/time-slice.ts";
import type { FilterRule } from "../filter-rules.ts";

/** Pieces replaced, or places sorted, between two pauses; takes 1 ms. */
const piecesPerPause = 8_192;
const placesPerPause = 16_384;

interface Region {
  readonly start: number;
  end: number;
  /** Length of the longest match in the region. */
  longestMatch: number;
  placeholder: string;
}

export class Redactions {
  // Three arrays instead of objects, because a short pattern can match a million times.
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #rules: FilterRule[] = [];

  /** Start indices of the ascending runs; each form of the text adds one run. */
  readonly #runs: number[] = [0];

  add({ start, end }: TextSpan, rule: FilterRule): void {
    const last = this.#starts.length - 1;
    // Different forms of a text mostly match at the same places, so the span is often already there.
    if (this.#starts[last] === start && this.#ends[last] === end) return;
    if (start < (this.#starts[last] ?? 0)) this.#runs.push(last + 1);
    this.#starts.push(start);
    this.#ends.push(end);
    this.#rules.push(rule);
  }

  /**
   * Replaces the spans. Overlapping matches get a single placeholder: that of the longest match, or of the first one
   * found among equally long.
   */
  *apply(text: string): Yielding<string> {
    const pieces: string[] = [];
    let batch: string[] = [];
    let at = 0;
    for (const { start, end, placeholder } of this.#regions(yield* this.#inOrder())) {
      batch.push(text.slice(at, start), placeholder);
      at = end;
      if (batch.length < piecesPerPause) continue;
      pieces.push(batch.join(""));
      batch = [];
      yield;
    }
    return pieces.join("") + batch.join("") + text.slice(at);
  }

  /** Indices of the spans sorted by start; among equal starts, the first found comes first. */
  *#inOrder(): Yielding<Uint32Array> {
    let order = new Uint32Array(this.#starts.length);
    for (let at = 0; at < order.length; at++) {
      if (at % placesPerPause === 0) yield;
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

  /** Merges two adjacent runs. */
  *#merge(order: Uint32Array, into: Uint32Array, [from, middle, end]: readonly [number, number, number]): Yielding {
    let left = from;
    let right = middle;
    for (let at = from; at < end; at++) {
      if (at % placesPerPause === 0) yield;
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
      const { placeholder } = this.#rules[index] as FilterRule;
      if (open === undefined || start >= open.end) {
        if (open) yield open;
        open = { start, end, longestMatch: end - start, placeholder };
        continue;
      }
      open.end = Math.max(open.end, end);
      if (end - start <= open.longestMatch) continue;
      open.longestMatch = end - start;
      open.placeholder = placeholder;
    }
    if (open) yield open;
  }
}
