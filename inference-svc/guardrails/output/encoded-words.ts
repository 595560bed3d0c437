/**
 * Words of a text that comes in pieces in which another text may be encoded. Such a word is held until it ends, and goes as a whole when a rule finds
 * something in what it says. A long one is read in stretches that overlap, and of it goes what is left.
 */
import type { Pauses } from "../../turn/breath.ts";
import { encodedIn, longestEncoded, shortestEncoded } from "../input/encoded.ts";
import { maxHeld } from "./bounded.ts";
import { Readable } from "./readable.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import { RuleScans } from "./rule-scans.ts";
import { type OutputRule, jointPieceLength } from "./rules.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** Instead of a digit. */
const none = 255;
/** By unit the digit of base64, in either spelling. */
const base64 = new Uint8Array(128).fill(none);
for (let digit = 0; digit < alphabet.length; digit++) base64[alphabet.charCodeAt(digit)] = digit;
base64[0x2d] = 62;
base64[0x5f] = 63;
const hexadecimal = Uint8Array.from({ length: 128 }, (_, unit) => {
  const digit = Number.parseInt(String.fromCharCode(unit), 16);
  return Number.isNaN(digit) ? none : digit;
});

const equals = 0x3d;

export class EncodedWords {
  readonly #rules: readonly OutputRule[];
  readonly #report: Report;
  #length: number;
  /** Inside a word. */
  #open = false;
  /** Of the word, while it may be an encoded one. */
  #word = "";
  #start = 0;
  #padding = 0;
  readonly #base64 = new Readable(6);
  readonly #hexadecimal = new Readable(4);
  /** Whether it may be one in either way. */
  #isBase64 = false;
  #isHexadecimal = false;
  /** UTF-16 units of the word that were read and let go. */
  #passed = 0;
  /** Found something in a word that goes on. */
  #found: readonly OutputRule[] = [];

  /** @param base where the text begins */
  constructor(rules: readonly OutputRule[], base: number, report: Report) {
    this.#rules = rules;
    this.#report = report;
    this.#length = base;
  }

  /** Up to here no word is held. */
  get decided(): number {
    return this.#word === "" ? Number.POSITIVE_INFINITY : this.#start;
  }

  /**
   * Reads on while there is nothing to look into.
   * @returns index of the unit from which on the text is to be pushed; its length when that is all of it
   */
  skim(text: string, at = 0): number {
    if (this.#found.length > 0 || this.#padding > 0) return at;
    const offset = this.#length - at;
    let from = at;
    let index = at;
    for (; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      const digit = unit < 128 ? (base64[unit] as number) : none;
      if (digit === none) {
        if (!this.#open) continue;
        const length = this.#word.length + index - from;
        if (this.#isHeld && (unit === equals || length + this.#passed >= shortestEncoded)) break;
        this.#close();
        continue;
      }
      if (!this.#open) {
        this.#begin(offset + index);
        from = index;
      }
      if (!this.#isHeld) continue;
      if (this.#word.length + index - from + 1 === maxHeld) break;
      this.#take(unit, digit);
    }
    if (this.#isHeld) this.#word += text.slice(from, index);
    this.#length = offset + index;
    return index;
  }

  *push(text: string): Pauses<readonly Hit[]> {
    const hits: Hit[] = [];
    for (let index = this.skim(text); index < text.length; index = this.skim(text, index + 1)) {
      hits.push(...(yield* this.#pushOne(text.charAt(index))));
      this.#length++;
    }
    return hits;
  }

  *#pushOne(character: string): Pauses<readonly Hit[]> {
    const unit = character.charCodeAt(0);
    const digit = unit < 128 ? (base64[unit] as number) : none;
    if (digit === none) return yield* this.#pushOther(unit);
    const hits = this.#padding > 0 ? yield* this.#end() : [];
    if (!this.#open) this.#begin(this.#length);
    if (this.#found.length > 0) return [...hits, ...this.#goneOn()];
    if (!this.#isHeld) return hits;
    this.#take(unit, digit);
    if (!this.#isHeld) return hits;
    this.#word += character;
    return this.#word.length === maxHeld ? [...hits, ...(yield* this.#readOn())] : hits;
  }

  /** No digit. */
  *#pushOther(unit: number): Pauses<readonly Hit[]> {
    const pads = unit === equals && this.#padding < 2;
    let hits: readonly Hit[] = [];
    if (pads && this.#found.length > 0) hits = this.#goneOn();
    else if (pads && this.#word !== "") this.#word += "=";
    else if (this.#open) hits = yield* this.#end();
    if (pads && this.#open) this.#padding++;
    return hits;
  }

  end(): Pauses<readonly Hit[]> {
    return this.#end();
  }

  #begin(start: number): void {
    this.#open = true;
    this.#start = start;
    this.#passed = 0;
    this.#isBase64 = this.#isHexadecimal = true;
    this.#base64.begin();
    this.#hexadecimal.begin();
  }

  #close(): void {
    this.#open = false;
    this.#word = "";
    this.#isBase64 = this.#isHexadecimal = false;
  }

  /** Another digit of the word that is held; that may show that it is no encoded one. */
  #take(unit: number, digit: number): void {
    if (this.#isBase64) this.#isBase64 = this.#base64.push(digit);
    if (this.#isHexadecimal && (unit === 0x78 || unit === 0x58) && this.#hexadecimal.isZero) this.#hexadecimal.begin();
    else if (this.#isHexadecimal) {
      const half = hexadecimal[unit] as number;
      this.#isHexadecimal = half !== none && this.#hexadecimal.push(half);
    }
    if (!this.#isHeld) this.#word = "";
  }

  get #isHeld(): boolean {
    return this.#isBase64 || this.#isHexadecimal;
  }

  *#end(): Pauses<readonly Hit[]> {
    const word = this.#word;
    const length = word.length - Math.min(word.length, this.#padding);
    this.#close();
    this.#padding = 0;
    this.#found = [];
    if (length + this.#passed < shortestEncoded) return [];
    const rules = yield* this.#rulesFinding(word);
    return rules.map((rule) => ({ start: this.#start, end: this.#start + word.length, rule }));
  }

  /** Lets the first half of it go, or keeps it all back from here on. */
  *#readOn(): Pauses<readonly Hit[]> {
    this.#found = yield* this.#rulesFinding(this.#word);
    const { length } = this.#word;
    const hits = this.#found.map((rule) => ({ start: this.#start, end: this.#start + length, rule }));
    const gone = hits.length > 0 || this.#passed + length > longestEncoded ? length : length / 2;
    this.#word = this.#word.slice(gone);
    this.#start += gone;
    this.#passed += gone;
    if (this.#passed > longestEncoded) this.#isBase64 = this.#isHexadecimal = false;
    return hits;
  }

  #goneOn(): readonly Hit[] {
    return this.#found.map((rule) => ({ start: this.#length, end: this.#length + 1, rule, continues: true as const }));
  }

  *#rulesFinding(word: string): Pauses<readonly OutputRule[]> {
    const finding = new Set<OutputRule>();
    const note = (hits: readonly Hit[]) => hits.forEach(({ rule }) => finding.add(rule));
    const length = jointPieceLength(this.#rules);
    for (const { text } of encodedIn(word, 0)) {
      const scans = RuleScans.open(this.#rules, 0, this.#report);
      for (let at = 0; at < text.length; at += length) {
        note(scans.push(text.slice(at, at + length)));
        yield;
      }
      note(scans.end());
    }
    return [...finding];
  }
}
