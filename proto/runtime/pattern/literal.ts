/** A pattern that is a plain text, of any length: found by Knuth, Morris and Pratt's way, which never looks back. */
import { Automaton } from "./automaton.ts";
import type { Finder, Found, Scan, Span } from "./finder.ts";
import { parse } from "./parse.ts";
import { programOf } from "./program.ts";

/** Longer ones make the native search no faster, and its worst case slower. */
const maxSought = 16;
/** UTF-16 units of one that is read together with others: by itself it is found as fast. */
const longestJoined = 64;

export class Literal implements Finder {
  readonly text: string;
  /** Of each beginning of the text, the length of the longest shorter one that it ends with. */
  readonly borders: Int32Array;
  #automaton: Automaton | undefined;

  constructor(text: string) {
    this.text = text;
    this.borders = new Int32Array(text.length + 1);
    let border = 0;
    for (let length = 2; length <= text.length; length++) {
      border = this.extend(border, text.charCodeAt(length - 1));
      this.borders[length] = border;
    }
  }

  /** How much of the text stands at the end of something that ended with the first `matched` units of it, and goes on with `unit`. */
  extend(matched: number, unit: number): number {
    let length = matched;
    while (length > 0 && this.text.charCodeAt(length) !== unit) length = this.borders[length] as number;
    return this.text.charCodeAt(length) === unit ? length + 1 : 0;
  }

  /** Undefined for long ones. */
  get automaton(): Automaton | undefined {
    if (this.text.length > longestJoined) return undefined;
    return (this.#automaton ??= new Automaton(programOf(parse(this.text))));
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
    this.#sought = literal.text.slice(0, maxSought);
  }

  push(piece: string): Found {
    const { text } = this.#literal;
    let spans: Span[] | undefined;
    let matched = this.#matched;
    for (let index = 0; index < piece.length; index++) {
      if (matched === 0) index = this.#skip(piece, index);
      matched = this.#literal.extend(matched, piece.charCodeAt(index));
      if (matched < text.length) continue;
      const end = this.#position + index + 1;
      (spans ??= []).push({ start: end - text.length, end });
      matched = 0;
    }
    this.#matched = matched;
    this.#position += piece.length;
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

const nothing: readonly Span[] = [];
