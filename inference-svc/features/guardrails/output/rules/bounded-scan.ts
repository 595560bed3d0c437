/**
 * Bounds how much text a scan holds back. A possible match that becomes too long (such as of `secret:.*`) is reported
 * piece by piece from its start on, before it is certain.
 */
import type { Found, Scan, TextSpan } from "@sluice/proto/lib/pattern/finder.js";

/** Maximum UTF-16 units a scan holds back, some pages of text. */
export const maxHeldUnits = 4_096;

export interface BoundedSpan extends TextSpan {
  /** Whether the span continues the previous one, which ended where this one starts. */
  readonly continues?: true;
}

export interface BoundedMatch extends Found {
  readonly spans: readonly BoundedSpan[];
}

export class BoundedScan {
  readonly #scan: Scan;
  #length: number;
  /** Place before which everything was reported as a match. */
  #givenUntil = 0;
  /** Start of the possible match that has become too long; undefined when there is none. */
  #overrunStart: number | undefined;

  /** @param length number of UTF-16 units the scan has already read */
  constructor(scan: Scan, length = 0) {
    this.#scan = scan;
    this.#length = length;
  }

  /** A copy of the scan. @returns undefined when the scan cannot be forked */
  fork(): BoundedScan | undefined {
    const scan = this.#scan.fork?.();
    if (!scan) return undefined;
    const fork = new BoundedScan(scan, this.#length);
    fork.#givenUntil = this.#givenUntil;
    fork.#overrunStart = this.#overrunStart;
    return fork;
  }

  push(piece: string): BoundedMatch {
    if (this.#overrunStart === undefined) return this.#pushBounded(piece);
    // Units are pushed one by one, so the end of the match does not depend on how the text is divided into deltas.
    for (let index = 0; index < piece.length; index++) {
      const found = this.#scan.push(piece.charAt(index));
      if (found.decided > this.#overrunStart) return this.#endOverrun(found, index, piece);
    }
    this.#length += piece.length;
    return { spans: this.#takeOverrun(), decided: this.#length };
  }

  end(): BoundedMatch {
    const overrun = this.#overrunStart === undefined ? [] : this.#takeOverrun();
    const { spans } = this.#scan.end();
    return { spans: [...overrun, ...this.#cutGiven(spans)], decided: this.#length };
  }

  #pushBounded(piece: string): BoundedMatch {
    const found = this.#scan.push(piece);
    this.#length += piece.length;
    // Most texts have no possible match that is too long.
    if (this.#givenUntil === 0 && this.#length - found.decided <= maxHeldUnits) return found;
    const decided = Math.max(found.decided, this.#givenUntil);
    const spans = this.#cutGiven(found.spans);
    if (this.#length - decided <= maxHeldUnits) return { spans, decided };
    this.#overrunStart = found.decided;
    this.#givenUntil = this.#length;
    return { spans: [...spans, { start: decided, end: this.#length }], decided: this.#length };
  }

  /** Ends the long match at the character with this index. */
  #endOverrun(found: Found, index: number, piece: string): BoundedMatch {
    this.#length += index;
    const overrun = this.#takeOverrun();
    this.#overrunStart = undefined;
    this.#length++;
    const rest = this.#pushBounded(piece.slice(index + 1));
    return { spans: [...overrun, ...this.#cutGiven(found.spans), ...rest.spans], decided: rest.decided };
  }

  #takeOverrun(): readonly BoundedSpan[] {
    const span = { start: this.#givenUntil, end: this.#length, continues: true as const };
    this.#givenUntil = this.#length;
    return span.end > span.start ? [span] : [];
  }

  /** The spans, without the text already reported. */
  #cutGiven(spans: readonly TextSpan[]): readonly BoundedSpan[] {
    if (spans.length === 0) return spans;
    return spans.flatMap(({ start, end }) => {
      if (end <= this.#givenUntil) return [];
      return start >= this.#givenUntil
        ? [{ start, end }]
        : [{ start: this.#givenUntil, end, continues: true as const }];
    });
  }
}
