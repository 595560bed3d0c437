/**
 * One pass over the bytes of a JSON text before anything parses it: what is refused here can cost no memory, and what is accepted
 * means the same to every parser behind us.
 *
 * JSON.parse takes the last of two equal keys, rounds 1e400 to Infinity, turns invalid UTF-8 into U+FFFD and needs 400 MB for 30 MB of
 * `[],`. All of that is refused with the offset of the byte. The object's members are returned as spans, so that subtrees can travel as
 * the client wrote them.
 */
import { isUtf8 } from "node:buffer";
import { firstInvalidUtf8 } from "./utf8.ts";
import type { Fault } from "../fault.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  escapeBytes,
  hexDigits,
  minus,
  nine,
  numberBytes,
  openBrace,
  openBracket,
  plainBytes,
  quote,
  zero,
} from "./json-bytes.ts";
import { invalid } from "./problems.ts";

export const jsonLimits = {
  /** Arrays and objects inside one another. */
  depth: 64,
  /** Values and keys. */
  tokens: 200_000,
  /** Keys of one object. */
  keys: 10_000,
  /** Bytes of one key, as written. */
  keyBytes: 1_024,
  /** Characters of one number. */
  numberLength: 32,
  /** Objects inside one another that may not repeat a key: the body, an item, a part of its content, what that holds. */
  distinctLevels: 4,
} as const;

/** From the first byte of a value to the byte after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  /** Decoded. */
  readonly key: string;
}

/**
 * The members of the object that the text is.
 * @param name what problems are reported under
 * @throws Fault INVALID_REQUEST naming the byte at which the text is refused
 */
export function scanObject(bytes: Uint8Array, name: string): readonly Member[] {
  const scanner = new Scanner(bytes, name);
  scanner.scan("object");
  return scanner.members;
}

/** The same for a text that may be any value, and stands in a body for the limits. */
export function scanValue(bytes: Uint8Array, name: string): void {
  new Scanner(bytes, name).scan("any");
}

const words: Readonly<Record<number, string>> = { 0x74: "true", 0x66: "false", 0x6e: "null" };
const numberForm = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

class Scanner {
  readonly members: Member[] = [];
  readonly #bytes: Buffer;
  readonly #name: string;
  #at = 0;
  #tokens = 0;
  /** Whether the string that was read last has escapes. */
  #escaped = false;

  constructor(bytes: Uint8Array, name: string) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#name = name;
  }

  scan(root: "object" | "any"): void {
    this.#checkEncoding();
    this.#skipSpace();
    if (root === "object" && this.#bytes[this.#at] !== openBrace) {
      throw invalid(this.#name, "must be a JSON object");
    }
    if (root === "object") this.#value(0, 0);
    else this.#value(1, 1);
    this.#skipSpace();
    if (this.#at < this.#bytes.length) throw this.#refused("unexpected data after the end of the JSON value");
  }

  #checkEncoding(): void {
    const bytes = this.#bytes;
    if (bytes.length === 0) throw invalid(this.#name, "must not be empty");
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw this.#refused("byte order mark", 0);
    if (!isUtf8(bytes)) throw this.#refused("invalid UTF-8", firstInvalidUtf8(bytes));
  }

  #refused(what: string, at = this.#at): Fault {
    return invalid(this.#name, `${what} at byte ${at}`);
  }

  #unexpected(expected: string): Fault {
    const ended = this.#at >= this.#bytes.length;
    return this.#refused(ended ? "unexpected end of JSON" : `invalid JSON, expected ${expected}`);
  }

  #skipSpace(): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    }
    this.#at = at;
  }

  #count(): void {
    if (++this.#tokens > jsonLimits.tokens) throw this.#refused(`more than ${jsonLimits.tokens} values and keys`);
  }

  /**
   * @param depth open arrays and objects
   * @param level open objects
   */
  #value(depth: number, level: number): void {
    this.#count();
    const byte = this.#bytes[this.#at] ?? 0;
    if (byte === quote) return this.#string();
    if (byte === openBrace) return this.#object(this.#deeper(depth), level + 1);
    if (byte === openBracket) return this.#array(this.#deeper(depth), level);
    if (byte === minus || (byte >= zero && byte <= nine)) return this.#number();
    return this.#word(words[byte]);
  }

  #deeper(depth: number): number {
    if (depth >= jsonLimits.depth) throw this.#refused(`nested deeper than ${jsonLimits.depth}`);
    return depth + 1;
  }

  #word(word: string | undefined): void {
    if (word === undefined) throw this.#unexpected("a value");
    for (let i = 0; i < word.length; i++) {
      if (this.#bytes[this.#at + i] !== word.charCodeAt(i)) throw this.#unexpected("a value");
    }
    this.#at += word.length;
  }

  #array(depth: number, level: number): void {
    this.#at++;
    this.#skipSpace();
    if (this.#bytes[this.#at] === closeBracket) return void this.#at++;
    for (;;) {
      this.#value(depth, level);
      this.#skipSpace();
      const byte = this.#bytes[this.#at];
      if (byte === closeBracket) return void this.#at++;
      if (byte !== comma) throw this.#unexpected("',' or ']'");
      this.#at++;
      this.#skipSpace();
    }
  }

  #object(depth: number, level: number): void {
    this.#at++;
    this.#skipSpace();
    if (this.#bytes[this.#at] === closeBrace) return void this.#at++;
    const distinct = level <= jsonLimits.distinctLevels ? new KeySet(this.#bytes) : undefined;
    for (let keys = 1; ; keys++) {
      if (keys > jsonLimits.keys) throw this.#refused(`more than ${jsonLimits.keys} keys in an object`);
      const keyStart = this.#at;
      const keyEnd = this.#key(distinct);
      const key = depth === 1 ? decoded(this.#bytes, keyStart, keyEnd, this.#escaped) : "";
      const start = this.#at;
      this.#value(depth, level);
      if (depth === 1) this.members.push({ key, start, end: this.#at });
      this.#skipSpace();
      const byte = this.#bytes[this.#at];
      if (byte === closeBrace) return void this.#at++;
      if (byte !== comma) throw this.#unexpected("',' or '}'");
      this.#at++;
      this.#skipSpace();
    }
  }

  /**
   * Reads a key up to the first byte of its value.
   * @returns the end of the key, behind its closing quote
   */
  #key(distinct: KeySet | undefined): number {
    this.#count();
    const start = this.#at;
    if (this.#bytes[start] !== quote) throw this.#unexpected("a key in double quotes");
    this.#string();
    const end = this.#at;
    if (end - start - 2 > jsonLimits.keyBytes) {
      throw this.#refused(`key of more than ${jsonLimits.keyBytes} bytes`, start);
    }
    if (distinct && !distinct.add(start, end, this.#escaped)) {
      const key = decoded(this.#bytes, start, end, true);
      throw this.#refused(`duplicate key ${JSON.stringify(key.slice(0, 64))}`, start);
    }
    this.#skipSpace();
    if (this.#bytes[this.#at] !== colon) throw this.#unexpected("':'");
    this.#at++;
    this.#skipSpace();
    return end;
  }

  #string(): void {
    const bytes = this.#bytes;
    const length = bytes.length;
    let at = this.#at + 1;
    this.#escaped = false;
    for (;;) {
      // Four at a time: this loop is where a body of images is spent.
      while (
        at + 3 < length &&
        (plainBytes[bytes[at]!]! &
          plainBytes[bytes[at + 1]!]! &
          plainBytes[bytes[at + 2]!]! &
          plainBytes[bytes[at + 3]!]!) ===
          1
      )
        at += 4;
      while (at < length && plainBytes[bytes[at]!] === 1) at++;
      const byte = bytes[at];
      if (byte === undefined) throw this.#refused("unterminated string");
      if (byte === quote) return void (this.#at = at + 1);
      if (byte !== backslash) throw this.#refused("raw control character in a string", at);
      this.#escaped = true;
      at = this.#escape(at);
    }
  }

  /** @returns where the string goes on */
  #escape(at: number): number {
    const next = this.#bytes[at + 1] ?? 0;
    if (next !== 0x75) {
      if (escapeBytes[next] !== 1) throw this.#refused("invalid escape", at);
      return at + 2;
    }
    const unit = this.#unit(at);
    if ((unit & 0xf800) !== 0xd800) return at + 6;
    const paired = (unit & 0xfc00) === 0xd800 && this.#bytes[at + 6] === backslash && this.#bytes[at + 7] === 0x75;
    if (!paired || (this.#unit(at + 6) & 0xfc00) !== 0xdc00) throw this.#refused("lone surrogate", at);
    return at + 12;
  }

  /** The UTF-16 unit of the escape `\uXXXX` at a byte. */
  #unit(at: number): number {
    let unit = 0;
    for (let i = at + 2; i < at + 6; i++) {
      const digit = hexDigits[this.#bytes[i] ?? 0] as number;
      if (digit > 15) throw this.#refused("invalid escape", at);
      unit = unit * 16 + digit;
    }
    return unit;
  }

  #number(): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start;
    while (numberBytes[bytes[at] ?? 0] === 1) at++;
    if (at - start > jsonLimits.numberLength) {
      throw this.#refused(`number of more than ${jsonLimits.numberLength} characters`, start);
    }
    this.#at = at;
    const oneDigit = at === start + 1 && bytes[start] !== minus;
    if (oneDigit) return;
    const text = bytes.toString("latin1", start, at);
    if (!numberForm.test(text)) throw this.#refused("invalid number", start);
    if (!Number.isFinite(Number(text))) throw this.#refused("number out of range", start);
  }
}

/** The text of a string, whose quotes are at both ends. @param escaped whether it may have escapes */
const decoded = (bytes: Buffer, start: number, end: number, escaped: boolean): string =>
  escaped ? (JSON.parse(bytes.toString("utf8", start, end)) as string) : bytes.toString("utf8", start + 1, end - 1);

/** So many keys are compared one by one; what has more is compared by hash. */
const fewKeys = 16;

/** The keys of one object. Most have a handful without escapes: those are compared as they stand, and none becomes a string. */
class KeySet {
  readonly #bytes: Buffer;
  /** Start and end of each key. */
  readonly #spans: number[] = [];
  #decoded: Set<string> | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** @returns false when the key is there already */
  add(start: number, end: number, escaped: boolean): boolean {
    if (escaped || this.#spans.length === 2 * fewKeys) this.#decoded ??= this.#decode();
    if (this.#decoded) return this.#decoded.size !== this.#decoded.add(decoded(this.#bytes, start, end, escaped)).size;
    const spans = this.#spans;
    for (let at = 0; at < spans.length; at += 2) {
      const other = spans[at]!;
      if (spans[at + 1]! - other === end - start && isSame(this.#bytes, other, start, end)) return false;
    }
    spans.push(start, end);
    return true;
  }

  #decode(): Set<string> {
    const keys = new Set<string>();
    for (let at = 0; at < this.#spans.length; at += 2) {
      keys.add(decoded(this.#bytes, this.#spans[at]!, this.#spans[at + 1]!, false));
    }
    return keys;
  }
}

function isSame(bytes: Buffer, other: number, start: number, end: number): boolean {
  let at = start;
  while (at < end && bytes[at] === bytes[other + at - start]) at++;
  return at === end;
}
