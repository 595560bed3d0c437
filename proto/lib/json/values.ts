/**
 * Counts the values of JSON texts while their bytes arrive. The time of a parser depends on them more than on the length: two million empty arrays in 8 MB
 * kept a process busy for a second, three quarters of it in its garbage collector (Node 20, 2026-11-29).
 */
import { backslash, comma, openBrace, openBracket, quote } from "./bytes.ts";
import { plainTextEnd } from "./tokens.ts";

/**
 * Maximum values of a text: arrays, objects, keys and strings; eight numbers count as one. Log probabilities of 6,600 tokens with 20 alternatives have as
 * many, and vectors of so many numbers are longer than an answer may be.
 */
export const maxValues = 1_000_000;
const numbersPerValue = 8;

/** Completes `the answer has`, and similar words. */
export const tooManyValues = `more than ${maxValues} JSON values`;

/** Weights of the bytes outside of strings, in numbers. A comma follows a number, or a value that has been counted already. */
const weights = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === openBrace || byte === openBracket || byte === quote) return numbersPerValue;
  return Number(byte === comma);
});

export class ValueCount {
  #numbers = 0;
  #inString = false;
  /** Whether the first byte of the next piece is escaped. */
  #isEscaped = false;

  get total(): number {
    return this.#numbers / numbersPerValue;
  }

  get isTooMany(): boolean {
    return this.total > maxValues;
  }

  add(bytes: Buffer): void {
    let at = this.#inString ? this.#skipString(bytes, 0) : 0;
    let numbers = 0;
    while (at < bytes.length) {
      const byte = bytes[at++]!;
      numbers += weights[byte]!;
      if (byte === quote) at = this.#skipString(bytes, at);
    }
    this.#numbers += numbers;
  }

  /** @returns the place after the closing quote; the length when the string continues in the next piece */
  #skipString(bytes: Buffer, from: number): number {
    const { length } = bytes;
    let at = from + Number(this.#isEscaped);
    for (;;) {
      at = plainTextEnd(bytes, at, length);
      if (at >= length || bytes[at] === quote) break;
      at += bytes[at] === backslash ? 2 : 1;
    }
    this.#inString = at >= length;
    this.#isEscaped = at > length;
    return Math.min(at + 1, length);
  }
}

export function countValues(json: string): number {
  const count = new ValueCount();
  count.add(Buffer.from(json));
  return count.total;
}

/**
 * `JSON.parse` for a text within a text of others, such as the arguments of a call.
 * @throws SyntaxError for invalid JSON, and for more values than a text may have
 */
export function parseWithin(json: string): unknown {
  // A text has at most a value for each character.
  if (json.length > maxValues && countValues(json) > maxValues) throw new SyntaxError(tooManyValues);
  return JSON.parse(json);
}
