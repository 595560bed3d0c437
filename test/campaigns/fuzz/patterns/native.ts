/** Runs the product's patterns on the native engine, as the reference. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";

export class Native {
  readonly #source: string;
  readonly #flags: string;
  readonly #expression: RegExp;

  constructor(pattern: string) {
    const [leading = "", flags = ""] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
    this.#source = pattern.slice(leading.length);
    this.#flags = `u${flags}`;
    this.#expression = new RegExp(this.#source, `g${this.#flags}`);
  }

  matches(text: string): readonly TextSpan[] {
    const matches = text.matchAll(this.#expression);
    return Array.from(matches, ({ index, 0: match }) => ({ start: index, end: index + match.length }));
  }

  /** Whether the pattern can match the empty text somewhere between two characters. */
  get matchesNothing(): boolean {
    // A look-ahead consumes nothing, so it does not matter whether the pattern prefers an empty match.
    const empty = new RegExp(`(?=(?:${this.#source}))`, `y${this.#flags}`);
    return neighbours.some((before) =>
      neighbours.some((after) => {
        empty.lastIndex = before.length;
        return empty.test(before + after);
      }),
    );
  }
}

const neighbours = ["", "\n", "a", "\u017f", " "];
