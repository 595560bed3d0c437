/** Texts derived from a source text, with a mapping of places back to the source. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";

export interface MappedPiece {
  readonly text: string;
  /** The span of the source text from which the units from `start` to `end` were made. */
  sourceOf(start: number, end: number): TextSpan;
}

/** A part of the source text, unchanged. @param at place of the part in the source */
export const mapUnchanged = (text: string, at: number): MappedPiece => ({
  text,
  sourceOf: (start, end) => ({ start: at + start, end: at + end }),
});

/** A derived text mapped as a whole to one span of the source. */
export const mapToWholeSource = (text: string, source: TextSpan): MappedPiece => ({ text, sourceOf: () => source });

/** The mapping of a text derived in two steps. @param made derived from `before` */
export const composeMaps = (made: MappedPiece, before: MappedPiece): MappedPiece => ({
  text: made.text,
  sourceOf: (start, end) => {
    const place = made.sourceOf(start, end);
    return before.sourceOf(place.start, place.end);
  },
});

/** A text built in order from unchanged and replaced pieces of the source. */
export class MappedText implements MappedPiece {
  text = "";
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Appends unchanged units of the source. @param at place of the units in the source */
  copy(units: string, at: number): void {
    for (let unit = 0; unit < units.length; unit++) {
      this.#starts.push(at + unit);
      this.#ends.push(at + unit + 1);
    }
    this.text += units;
  }

  /** Appends units that replace a span of the source; each is mapped to the whole span. */
  put(units: string, { start, end }: TextSpan): void {
    for (let unit = 0; unit < units.length; unit++) {
      this.#starts.push(start);
      this.#ends.push(end);
    }
    this.text += units;
  }

  sourceOf(start: number, end: number): TextSpan {
    return { start: this.#starts[start] as number, end: this.#ends[end - 1] as number };
  }
}
