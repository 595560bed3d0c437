/** Finds a literal text of any length by the Knuth-Morris-Pratt algorithm, which never goes back in the text. */
import { Automaton } from "./automaton.ts";
import type { Finder, Found, Scan, TextSpan } from "./finder.ts";
import { parse } from "./parse.ts";
import { compileProgram } from "./program.ts";
import { unitAt } from "../text/unit-at.ts";

/** Maximum length of the prefix that is searched natively: a longer one is no faster, and slower in the worst case. */
const maxSearched = 16;
/**
 * Maximum length in UTF-16 units of a literal that joins other patterns; a longer literal is found as fast in a
 * separate scan.
 */
const maxJointLength = 64;

export class Literal implements Finder {
  readonly text: string;
  /** Failure table: for each prefix length, the length of its longest proper prefix that is also its suffix. */
  readonly borders: Int32Array;
  #automaton: Automaton | undefined;

  constructor(text: string) {
    this.text = text;
    this.borders = new Int32Array(text.length + 1);
    let border = 0;
    for (let length = 2; length <= text.length; length++) {
      border = this.extend(border, unitAt(text, length - 1));
      this.borders[length] = border;
    }
  }

  /** Length of the prefix that matches after `unit` is read, when `matched` units matched before. */
  extend(matched: number, unit: number): number {
    let length = matched;
    while (length > 0 && unitAt(this.text, length) !== unit) length = this.borders[length] as number;
    return unitAt(this.text, length) === unit ? length + 1 : 0;
  }

  /** The automaton for joint scans; undefined for a literal that is too long. */
  get automaton(): Automaton | undefined {
    if (this.text.length > maxJointLength) return undefined;
    return (this.#automaton ??= new Automaton(compileProgram(parse(this.text))));
  }

  open(): Scan {
    return new LiteralScan(this);
  }
}

class LiteralScan implements Scan {
  readonly #literal: Literal;
  readonly #sought: string;
  #matched = 0;
  #position = 0;

  constructor(literal: Literal) {
    this.#literal = literal;
    this.#sought = literal.text.slice(0, maxSearched);
  }

  push(piece: string): Found {
    const { text } = this.#literal;
    const { length } = piece;
    let spans: TextSpan[] | undefined;
    let matched = this.#matched;
    for (let index = 0; index < length; index++) {
      if (matched === 0) index = this.#skip(piece, index);
      matched = this.#literal.extend(matched, unitAt(piece, index));
      if (matched < text.length) continue;
      const end = this.#position + index + 1;
      (spans ??= []).push({ start: end - text.length, end });
      matched = 0;
    }
    this.#matched = matched;
    this.#position += length;
    return { spans: spans ?? nothing, decided: this.#position - matched };
  }

  end(): Found {
    return { spans: nothing, decided: this.#position };
  }

  fork(): Scan {
    const fork = new LiteralScan(this.#literal);
    fork.#matched = this.#matched;
    fork.#position = this.#position;
    return fork;
  }

  #skip(piece: string, from: number): number {
    const last = piece.length - this.#sought.length;
    if (from > last) return from;
    const next = piece.indexOf(this.#sought, from);
    return next === -1 ? last + 1 : next;
  }
}

const nothing: readonly TextSpan[] = [];
