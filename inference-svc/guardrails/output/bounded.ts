/**
 * A scan that holds back no more than a limit: a match that goes on for longer (`secret:.*`) is taken for one from where it began to the first
 * character that ends it, before anybody knows whether it is.
 */
import type { Found, Scan, Span } from "@sluice/proto/runtime/pattern/finder.js";

/** In UTF-16 units: some pages of text. */
export const maxHeld = 4_096;

export interface BoundedSpan extends Span {
  /** Goes on with the one before it, which ended where it begins. */
  readonly continues?: true;
}

export interface BoundedFound extends Found {
  readonly spans: readonly BoundedSpan[];
}

export class BoundedScan {
  readonly #scan: Scan;
  #length: number;
  /** Up to here everything was given away as found. */
  #given = 0;
  /** Where the match began that has gone on for too long. */
  #overrun: number | undefined;

  /** @param length of what the scan has read */
  constructor(scan: Scan, length = 0) {
    this.#scan = scan;
    this.#length = length;
  }

  /** Undefined where a text cannot be read in two ways. */
  fork(): BoundedScan | undefined {
    const scan = this.#scan.fork?.();
    if (!scan) return undefined;
    const fork = new BoundedScan(scan, this.#length);
    fork.#given = this.#given;
    fork.#overrun = this.#overrun;
    return fork;
  }

  push(piece: string): BoundedFound {
    if (this.#overrun === undefined) return this.#hold(piece);
    // One by one, so that what comes behind the end of it does not depend on how the text is cut.
    for (let index = 0; index < piece.length; index++) {
      const found = this.#scan.push(piece.charAt(index));
      if (found.decided > this.#overrun) return this.#ended(found, index, piece);
    }
    this.#length += piece.length;
    return { spans: this.#give(), decided: this.#length };
  }

  end(): BoundedFound {
    const overrun = this.#overrun === undefined ? [] : this.#give();
    const { spans } = this.#scan.end();
    return { spans: [...overrun, ...this.#rest(spans)], decided: this.#length };
  }

  #hold(piece: string): BoundedFound {
    const found = this.#scan.push(piece);
    this.#length += piece.length;
    // Nothing was given away in most texts.
    if (this.#given === 0 && this.#length - found.decided <= maxHeld) return found;
    const decided = Math.max(found.decided, this.#given);
    const spans = this.#rest(found.spans);
    if (this.#length - decided <= maxHeld) return { spans, decided };
    this.#overrun = found.decided;
    this.#given = this.#length;
    return { spans: [...spans, { start: decided, end: this.#length }], decided: this.#length };
  }

  /** The character at the index has ended the match. */
  #ended(found: Found, index: number, piece: string): BoundedFound {
    this.#length += index;
    const overrun = this.#give();
    this.#overrun = undefined;
    this.#length++;
    const rest = this.#hold(piece.slice(index + 1));
    return { spans: [...overrun, ...this.#rest(found.spans), ...rest.spans], decided: rest.decided };
  }

  #give(): readonly BoundedSpan[] {
    const span = { start: this.#given, end: this.#length, continues: true as const };
    this.#given = this.#length;
    return span.end > span.start ? [span] : [];
  }

  /** What of them was not given away before. */
  #rest(spans: readonly Span[]): readonly BoundedSpan[] {
    if (spans.length === 0) return spans;
    return spans.flatMap(({ start, end }) => {
      if (end <= this.#given) return [];
      return start >= this.#given ? [{ start, end }] : [{ start: this.#given, end, continues: true as const }];
    });
  }
}
