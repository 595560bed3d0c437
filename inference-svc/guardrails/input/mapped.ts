/** A text that was made from another one, unit by unit, with the way back. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";

export interface Mapped {
  readonly text: string;
  /** The stretch of the source from which these units came. */
  sourceOf(start: number, end: number): Span;
}

/** A stretch of the source as it is. */
export const asItIs = (text: string, at: number): Mapped => ({
  text,
  sourceOf: (start, end) => ({ start: at + start, end: at + end }),
});

/** A stretch of the source that only counts as a whole. */
export const asWhole = (text: string, source: Span): Mapped => ({ text, sourceOf: () => source });

/** A text that was made from one that was made itself. */
export const through = (made: Mapped, before: Mapped): Mapped => ({
  text: made.text,
  sourceOf: (start, end) => {
    const place = made.sourceOf(start, end);
    return before.sourceOf(place.start, place.end);
  },
});

/** Several in a row. */
export class MappedText implements Mapped {
  text = "";
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Units that are what they were. */
  copy(units: string, at: number): void {
    for (let unit = 0; unit < units.length; unit++) {
      this.#starts.push(at + unit);
      this.#ends.push(at + unit + 1);
    }
    this.text += units;
  }

  /** Units that stand for all of a stretch. */
  put(units: string, { start, end }: Span): void {
    for (let unit = 0; unit < units.length; unit++) {
      this.#starts.push(start);
      this.#ends.push(end);
    }
    this.text += units;
  }

  sourceOf(start: number, end: number): Span {
    return { start: this.#starts[start] as number, end: this.#ends[end - 1] as number };
  }
}
