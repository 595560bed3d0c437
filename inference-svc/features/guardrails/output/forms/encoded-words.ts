/**
 * Finds base64 and hexadecimal words in streamed text and scans the text they encode. Such a word is held until it
 * ends, and is redacted as a whole if a rule matches the encoded text. A long word is scanned in overlapping windows;
 * after a match, the rest of the word is redacted.
 */
import type { Yielding } from "../../../../turn/time-slice.ts";
import { decodeWordsIn, maxEncodedLength, minEncodedLength } from "../../input/encoded.ts";
import { maxHeldUnits } from "../rules/bounded-scan.ts";
import { ReadableCheck } from "./readable-check.ts";
import type { RuleHit } from "../rules/merge-hits.ts";
import type { Report } from "../rules/report.ts";
import { RuleScans } from "../rules/rule-scans.ts";
import { type OutputRule, combinedPieceLength } from "../rules/output-rules.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** Value in the tables for a unit that is not a digit. */
const noDigit = 255;
/** Value of each base64 digit, in the standard and the URL-safe alphabet. */
const base64Digits = new Uint8Array(128).fill(noDigit);
for (let digit = 0; digit < alphabet.length; digit++) base64Digits[unitAt(alphabet, digit)] = digit;
base64Digits[0x2d] = 62;
base64Digits[0x5f] = 63;
const hexadecimalDigits = Uint8Array.from({ length: 128 }, (_, unit) => {
  const digit = Number.parseInt(String.fromCharCode(unit), 16);
  return Number.isNaN(digit) ? noDigit : digit;
});

const equals = 0x3d;

const isDigit = (unit: number): boolean => unit < 128 && base64Digits[unit] !== noDigit;

/** Place after a word that is too short to encode anything. @returns undefined for any other word */
function endOfShortWord(text: string, start: number): number | undefined {
  const { length } = text;
  let end = start + 1;
  while (end < length && isDigit(unitAt(text, end))) end++;
  const isShort = end < length && end - start < minEncodedLength && unitAt(text, end) !== equals;
  return isShort ? end : undefined;
}

export class EncodedWords {
  readonly #rules: readonly OutputRule[];
  readonly #report: Report;
  #length: number;
  /** Whether the last unit was a digit. */
  #isInWord = false;
  /** The held part of the current word, as long as the word may be an encoded one. */
  #word = "";
  #start = 0;
  #padding = 0;
  readonly #base64 = new ReadableCheck(6);
  readonly #hexadecimal = new ReadableCheck(4);
  /** Whether the current word may be base64. */
  #isBase64 = false;
  #isHexadecimal = false;
  /** Number of UTF-16 units of the current word that are already scanned and released. */
  #released = 0;
  /** Rules matched so far within the current, unfinished word. */
  #foundRules: readonly OutputRule[] = [];

  /** @param base place of the text's first unit in the answer */
  constructor(rules: readonly OutputRule[], base: number, report: Report) {
    this.#rules = rules;
    this.#report = report;
    this.#length = base;
  }

  /** Place before which no text is held. */
  get decided(): number {
    return this.#word === "" ? Number.POSITIVE_INFINITY : this.#start;
  }

  /**
   * Reads text as long as no word needs to be decoded.
   * @returns index of the first unit that must be pushed instead, or the text's length
   */
  skim(text: string, at = 0): number {
    if (this.#foundRules.length > 0 || this.#padding > 0) return at;
    const offset = this.#length - at;
    let from = at;
    const textLength = text.length;
    let index = at;
    for (; index < textLength; index++) {
      const unit = unitAt(text, index);
      const digit = unit < 128 ? (base64Digits[unit] as number) : noDigit;
      if (digit === noDigit) {
        if (!this.#isInWord) continue;
        const length = this.#word.length + index - from;
        if (this.#mayBeEncoded && (unit === equals || length + this.#released >= minEncodedLength)) break;
        this.#close();
        continue;
      }
      if (!this.#isInWord) {
        const end = endOfShortWord(text, index);
        if (end !== undefined) {
          index = end;
          continue;
        }
        this.#begin(offset + index);
        from = index;
      }
      if (!this.#mayBeEncoded) continue;
      if (this.#word.length + index - from + 1 === maxHeldUnits) break;
      this.#pushDigit(unit, digit);
    }
    if (this.#mayBeEncoded) this.#word += text.slice(from, index);
    this.#length = offset + index;
    return index;
  }

  *push(text: string): Yielding<readonly RuleHit[]> {
    const hits: RuleHit[] = [];
    for (let index = this.skim(text); index < text.length; index = this.skim(text, index + 1)) {
      hits.push(...(yield* this.#pushOne(text.charAt(index))));
      this.#length++;
    }
    return hits;
  }

  *#pushOne(character: string): Yielding<readonly RuleHit[]> {
    const unit = unitAt(character, 0);
    const digit = unit < 128 ? (base64Digits[unit] as number) : noDigit;
    if (digit === noDigit) return yield* this.#pushNonDigit(unit);
    const hits = this.#padding > 0 ? yield* this.#end() : [];
    if (!this.#isInWord) this.#begin(this.#length);
    if (this.#foundRules.length > 0) return [...hits, ...this.#continueFound()];
    if (!this.#mayBeEncoded) return hits;
    this.#pushDigit(unit, digit);
    if (!this.#mayBeEncoded) return hits;
    this.#word += character;
    return this.#word.length === maxHeldUnits ? [...hits, ...(yield* this.#scanHeld())] : hits;
  }

  /** Takes a unit that is not a digit: padding, or the end of the word. */
  *#pushNonDigit(unit: number): Yielding<readonly RuleHit[]> {
    const pads = unit === equals && this.#padding < 2;
    let hits: readonly RuleHit[] = [];
    if (pads && this.#foundRules.length > 0) hits = this.#continueFound();
    else if (pads && this.#word !== "") this.#word += "=";
    else if (this.#isInWord) hits = yield* this.#end();
    if (pads && this.#isInWord) this.#padding++;
    return hits;
  }

  end(): Yielding<readonly RuleHit[]> {
    return this.#end();
  }

  #begin(start: number): void {
    this.#isInWord = true;
    this.#start = start;
    this.#released = 0;
    this.#isBase64 = this.#isHexadecimal = true;
    this.#base64.begin();
    this.#hexadecimal.begin();
  }

  #close(): void {
    this.#isInWord = false;
    this.#word = "";
    this.#isBase64 = this.#isHexadecimal = false;
  }

  /** Takes the next digit of the current word, and gives up the word when it can no longer encode text. */
  #pushDigit(unit: number, digit: number): void {
    if (this.#isBase64) this.#isBase64 = this.#base64.push(digit);
    if (this.#isHexadecimal && (unit === 0x78 || unit === 0x58) && this.#hexadecimal.isZero) this.#hexadecimal.begin();
    else if (this.#isHexadecimal) {
      const half = hexadecimalDigits[unit] as number;
      this.#isHexadecimal = half !== noDigit && this.#hexadecimal.push(half);
    }
    if (!this.#mayBeEncoded) this.#word = "";
  }

  get #mayBeEncoded(): boolean {
    return this.#isBase64 || this.#isHexadecimal;
  }

  *#end(): Yielding<readonly RuleHit[]> {
    const word = this.#word;
    const length = word.length - Math.min(word.length, this.#padding);
    this.#close();
    this.#padding = 0;
    this.#foundRules = [];
    if (length + this.#released < minEncodedLength) return [];
    const rules = yield* this.#findRules(word);
    return rules.map((rule) => ({ start: this.#start, end: this.#start + word.length, rule }));
  }

  /** Scans a full window of a long word. Then releases the first half, or redacts the word from here on if a rule matched. */
  *#scanHeld(): Yielding<readonly RuleHit[]> {
    this.#foundRules = yield* this.#findRules(this.#word);
    const { length } = this.#word;
    const hits = this.#foundRules.map((rule) => ({ start: this.#start, end: this.#start + length, rule }));
    const gone = hits.length > 0 || this.#released + length > maxEncodedLength ? length : length / 2;
    this.#word = this.#word.slice(gone);
    this.#start += gone;
    this.#released += gone;
    if (this.#released > maxEncodedLength) this.#isBase64 = this.#isHexadecimal = false;
    return hits;
  }

  #continueFound(): readonly RuleHit[] {
    return this.#foundRules.map((rule) => ({
      start: this.#length,
      end: this.#length + 1,
      rule,
      continues: true as const,
    }));
  }

  *#findRules(word: string): Yielding<readonly OutputRule[]> {
    const finding = new Set<OutputRule>();
    const note = (hits: readonly RuleHit[]) => hits.forEach(({ rule }) => finding.add(rule));
    const length = combinedPieceLength(this.#rules);
    for (const { text } of decodeWordsIn(word, 0)) {
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
