/**
 * The scanner that all built-in detectors share. It walks a text once and calls the detector at each possible start of
 * a match. A detector that reads past the received text is called again when more has come, so its result depends only
 * on the text, and not on how it arrives. Only undecided text is held.
 */
import type { Found, Finder, Scan, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { UnitSet } from "./unit-sets.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Value read outside of the text, or farther than the detector may read. */
export const noUnit = -1;

export interface CandidateShape {
  /** Maximum UTF-16 units in front of a candidate the detector may read. */
  readonly behind: number;
  /** Maximum UTF-16 units from a candidate's start that the detector may read; for the detector, longer text ends there. */
  readonly ahead: number;
  /** UTF-16 units with which a match may start. */
  readonly first: UnitSet;
  /** UTF-16 units directly after which no match starts. */
  readonly notAfter: UnitSet;
  /** The end of a match that starts here. The result must depend only on the text read. @returns undefined when there is none */
  readonly match: (text: CandidateWindow, start: number) => number | undefined;
}

/** A detector's view of the text around one candidate. Places are offsets in the scanner's buffer. */
export class CandidateWindow {
  #text = "";
  #over = false;
  #floor = 0;
  #ceiling = 0;
  /** Whether the detector has read past the received text: its result is then not final. */
  needsMore = false;

  show(text: string, over: boolean): void {
    this.#text = text;
    this.#over = over;
  }

  open(floor: number, ceiling: number): void {
    this.#floor = floor;
    this.#ceiling = ceiling;
    this.needsMore = false;
  }

  /** The UTF-16 unit at a place, or `noUnit`. */
  at(place: number): number {
    if (place < this.#floor || place >= this.#ceiling) return noUnit;
    if (place < this.#text.length) return unitAt(this.#text, place);
    if (!this.#over) this.needsMore = true;
    return noUnit;
  }

  /** End of the run of units from this place that are all in the set. */
  run(start: number, members: UnitSet, max = Number.POSITIVE_INFINITY): number {
    let end = start;
    while (end - start < max && members[this.at(end)] === 1) end++;
    return end;
  }

  /** Whether the text continues with these words here. Reads no further than the first difference. */
  startsWith(start: number, words: string): boolean {
    const { length } = words;
    for (let i = 0; i < length; i++) if (this.at(start + i) !== unitAt(words, i)) return false;
    return true;
  }

  /** A part of the text the detector has already read. */
  slice(start: number, end: number): string {
    return this.#text.slice(start, end);
  }

  /** The units in front of a place: at most `max`, as far as they exist and may be read. */
  before(place: number, max: number): string {
    return this.#text.slice(Math.max(this.#floor, place - max), place);
  }
}

class CandidateScan implements Scan {
  readonly #shape: CandidateShape;
  readonly #window = new CandidateWindow();
  /** Received text the detector may still read. */
  #text = "";
  /** Place of the buffer's first unit in the whole text. */
  #origin = 0;
  /** Place in the buffer of the next possible match. */
  #next = 0;

  constructor(shape: CandidateShape) {
    this.#shape = shape;
  }

  push(piece: string): Found {
    this.#forget();
    this.#text += piece;
    return this.#look(false);
  }

  end(): Found {
    return this.#look(true);
  }

  fork(): Scan {
    const fork = new CandidateScan(this.#shape);
    fork.#text = this.#text;
    fork.#origin = this.#origin;
    fork.#next = this.#next;
    return fork;
  }

  #forget(): void {
    const unseen = this.#next - this.#shape.behind - 1;
    if (unseen <= 0) return;
    this.#text = this.#text.slice(unseen);
    this.#origin += unseen;
    this.#next -= unseen;
  }

  #look(over: boolean): Found {
    const spans: TextSpan[] = [];
    const { match } = this.#shape;
    this.#window.show(this.#text, over);
    let start = this.#candidate(this.#next);
    while (start < this.#text.length) {
      this.#window.open(Math.max(0, start - this.#shape.behind), start + this.#shape.ahead);
      const end = match(this.#window, start);
      if (this.#window.needsMore) break;
      if (end !== undefined) spans.push({ start: this.#origin + start, end: this.#origin + end });
      start = this.#candidate(end ?? start + 1);
    }
    this.#next = start;
    return { spans, decided: this.#origin + start };
  }

  /** The next place where a match could start, or the end of the buffer. */
  #candidate(from: number): number {
    const { first, notAfter } = this.#shape;
    const text = this.#text;
    const { length } = text;
    let place = from;
    while (place < length) {
      if (first[unitAt(text, place)] === 1 && (place === 0 || notAfter[unitAt(text, place - 1)] !== 1)) break;
      place++;
    }
    return place;
  }
}

/** UTF-16 units per push. On its worst text, the slowest detector takes 0.5 microseconds per unit. */
const pieceLength = 16_384;

export const buildFinder = (shape: CandidateShape): Finder => ({ open: () => new CandidateScan(shape), pieceLength });
