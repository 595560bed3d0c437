/** What of a text is to be replaced. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Rule } from "../policy.ts";

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

  add({ start, end }: Span, rule: Rule): void {
    const last = this.#starts.length - 1;
    // Views of one text find much the same.
    if (this.#starts[last] === start && this.#ends[last] === end) return;
    this.#starts.push(start);
    this.#ends.push(end);
    this.#rules.push(rule);
  }

  /** Matches that overlap are replaced together, by the placeholder of the longest; of several as long by that which was found first. */
  apply(text: string): string {
    let said = "";
    let at = 0;
    for (const { start, end, placeholder } of this.#regions()) {
      said += text.slice(at, start) + placeholder;
      at = end;
    }
    return said + text.slice(at);
  }

  #regions(): Iterable<Region> {
    const order = this.#starts.map((_, index) => index);
    order.sort((a, b) => (this.#starts[a] as number) - (this.#starts[b] as number) || a - b);
    const regions: Region[] = [];
    for (const index of order) {
      const start = this.#starts[index] as number;
      const end = this.#ends[index] as number;
      const { placeholder } = this.#rules[index] as Rule;
      const open = regions.at(-1);
      if (open === undefined || start >= open.end) {
        regions.push({ start, end, longest: end - start, placeholder });
        continue;
      }
      open.end = Math.max(open.end, end);
      if (end - start <= open.longest) continue;
      open.longest = end - start;
      open.placeholder = placeholder;
    }
    return regions;
  }
}
