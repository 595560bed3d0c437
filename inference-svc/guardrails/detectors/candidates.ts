/**
 * The scanner under all detectors. It walks a text once, and at each place where something could begin lets the detector
 * read on as far as it needs. Whoever reads past what has come is asked again with more; so a verdict depends on the text
 * alone, and only what is undecided is held.
 */
import type { Found, Finder, Scan, Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Units } from "./units.ts";

/** What is read where no text is: before its beginning, after its end, out of the detector's reach. */
export const none = -1;

export interface Shape {
  /** Units in front of a candidate that it may look at. */
  readonly behind: number;
  /** Units from its start on that it may look at. What is longer seems to end there. */
  readonly ahead: number;
  /** What a candidate begins with. */
  readonly first: Units;
  /** What no candidate comes right after. */
  readonly notAfter: Units;
  /** Where the match that starts here ends; undefined when nothing does. The same reads must give the same answer. */
  readonly match: (text: Window, start: number) => number | undefined;
}

/** What a detector sees of the text around one candidate. Places are those of the scanner, not of the whole text. */
export class Window {
  #text = "";
  #over = false;
  #floor = 0;
  #ceiling = 0;
  /** The answer depends on text that has not come. */
  wanting = false;

  show(text: string, over: boolean): void {
    this.#text = text;
    this.#over = over;
  }

  open(floor: number, ceiling: number): void {
    this.#floor = floor;
    this.#ceiling = ceiling;
    this.wanting = false;
  }

  /** The unit at a place, or `none`. */
  at(place: number): number {
    if (place < this.#floor || place >= this.#ceiling) return none;
    if (place < this.#text.length) return this.#text.charCodeAt(place);
    if (!this.#over) this.wanting = true;
    return none;
  }

  /** End of the run of such units that starts here. */
  run(start: number, members: Units, longest = Number.POSITIVE_INFINITY): number {
    let end = start;
    while (end - start < longest && members[this.at(end)] === 1) end++;
    return end;
  }

  /** Whether these very units stand here; reads no further than the first difference. */
  says(start: number, words: string): boolean {
    for (let i = 0; i < words.length; i++) if (this.at(start + i) !== words.charCodeAt(i)) return false;
    return true;
  }

  /** Text that has been read. */
  slice(start: number, end: number): string {
    return this.#text.slice(start, end);
  }

  /** The last units before a place, as many as there are and may be seen. */
  before(place: number, longest: number): string {
    return this.#text.slice(Math.max(this.#floor, place - longest), place);
  }
}

class CandidateScan implements Scan {
  readonly #shape: Shape;
  readonly #window = new Window();
  /** What may still be looked at. */
  #text = "";
  /** Place of its first unit in the whole text. */
  #origin = 0;
  /** Where to look next, in `#text`. */
  #next = 0;

  constructor(shape: Shape) {
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
    const spans: Span[] = [];
    const { match } = this.#shape;
    this.#window.show(this.#text, over);
    let start = this.#candidate(this.#next);
    while (start < this.#text.length) {
      this.#window.open(Math.max(0, start - this.#shape.behind), start + this.#shape.ahead);
      const end = match(this.#window, start);
      if (this.#window.wanting) break;
      if (end !== undefined) spans.push({ start: this.#origin + start, end: this.#origin + end });
      start = this.#candidate(end ?? start + 1);
    }
    this.#next = start;
    return { spans, decided: this.#origin + start };
  }

  /** The next place where something could begin, or the end of the text. */
  #candidate(from: number): number {
    const { first, notAfter } = this.#shape;
    const text = this.#text;
    let place = from;
    while (place < text.length) {
      if (first[text.charCodeAt(place)] === 1 && (place === 0 || notAfter[text.charCodeAt(place - 1)] !== 1)) break;
      place++;
    }
    return place;
  }
}

/** The slowest of the detectors on the worst of the texts that were made for them takes half a microsecond a unit. */
const pieceLength = 16_384;

export const finderOf = (shape: Shape): Finder => ({ open: () => new CandidateScan(shape), pieceLength });
