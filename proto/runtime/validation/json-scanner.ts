/** Walks through a JSON text, byte by byte, and refuses what is none or more than the limits allow. */
import { isUtf8 } from "node:buffer";
import { firstInvalidUtf8 } from "./utf8.ts";
import type { Fault } from "../fault.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  minus,
  nine,
  openBrace,
  openBracket,
  plainBytes,
  quote,
  spaceBytes,
  zero,
} from "./json-bytes.ts";
import { KeySet, decoded } from "./json-keys.ts";
import { jsonLimits } from "./json-limits.ts";
import type { Member } from "./json-span.ts";
import { escapeEnd, numberEnd, refused, wordEnd } from "./json-tokens.ts";
import { invalid } from "./problems.ts";

// What comes next, after white space.
const aValue = 0;
/** Or the end of the array. */
const aFirstValue = 1;
const aKey = 2;
/** Or the end of the object. */
const aFirstKey = 3;
const aColon = 4;
/** Or the end of what the value stands in. */
const aComma = 5;
// The rest of a string, white space included.
const ofValue = 6;
const ofKey = 7;

/** An array or object that is open. */
interface Open {
  readonly isObject: boolean;
  /** Objects that are open, this one included. */
  readonly level: number;
  keys: number;
  /** Where none may be repeated. */
  distinct: KeySet | undefined;
}

/** Without recursion, so that it can be left between any two bytes of a string, and anywhere else between two tokens. */
export class Scanner {
  readonly members: Member[] = [];
  readonly #bytes: Buffer;
  readonly #name: string;
  /** Arrays and objects around the text that count for the limits. */
  readonly #around: number;
  readonly #open: Open[] = [];
  #inner: Open | undefined;
  #next = aValue;
  #at = 0;
  /** Where the piece ends. */
  #until = 0;
  #tokens = 0;
  /** Of the string that was begun last. */
  #stringAt = 0;
  #escaped = false;
  /** Of the member that is read. */
  #key = "";
  #valueAt = 0;

  constructor(bytes: Uint8Array, name: string, root: "object" | "any") {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#name = name;
    this.#around = root === "object" ? 0 : 1;
    this.#checkEncoding();
  }

  /**
   * Reads on for about so many bytes.
   * @returns whether that was the rest of the text
   */
  advance(count: number): boolean {
    const { length } = this.#bytes;
    this.#until = Math.min(length, this.#at + count);
    while (this.#at < this.#until) this.#step();
    if (this.#until < length) return false;
    this.#checkEnd();
    return true;
  }

  #checkEncoding(): void {
    const bytes = this.#bytes;
    if (bytes.length === 0) throw invalid(this.#name, "must not be empty");
    if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw this.#refused("byte order mark", 0);
    if (!isUtf8(bytes)) throw this.#refused("invalid UTF-8", firstInvalidUtf8(bytes));
  }

  #checkEnd(): void {
    if (this.#next === aComma && this.#inner === undefined) return;
    if (this.#next >= ofValue) throw this.#refused("unterminated string", this.#stringAt);
    throw this.#tokens === 0 && this.#around === 0 ? this.#notAnObject() : this.#unexpected("more");
  }

  #refused(what: string, at = this.#at): Fault {
    return refused(this.#name, what, at);
  }

  #notAnObject(): Fault {
    return invalid(this.#name, "must be a JSON object");
  }

  #unexpected(expected: string): Fault {
    const ended = this.#at >= this.#bytes.length;
    return this.#refused(ended ? "unexpected end of JSON" : `invalid JSON, expected ${expected}`);
  }

  #step(): void {
    if (this.#next >= ofValue) return this.#string();
    const byte = this.#bytes[this.#at]!;
    if (spaceBytes[byte] === 1) return this.#skipSpace();
    switch (this.#next) {
      case aFirstValue:
        return byte === closeBracket ? this.#close() : this.#value(byte);
      case aKey:
        return this.#beginKey(byte);
      case aFirstKey:
        return byte === closeBrace ? this.#close() : this.#beginKey(byte);
      case aColon:
        if (byte !== colon) throw this.#unexpected("':'");
        return this.#go(aValue);
      case aComma:
        return this.#comma(byte);
      default:
        return this.#value(byte);
    }
  }

  /** Over one byte. */
  #go(next: number): void {
    this.#at++;
    this.#next = next;
  }

  #skipSpace(): void {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    while (at < this.#until && spaceBytes[bytes[at]!] === 1) at++;
    this.#at = at;
  }

  #count(): void {
    if (++this.#tokens > jsonLimits.tokens) throw this.#refused(`more than ${jsonLimits.tokens} values and keys`);
  }

  /** Whether the text is an object, and what comes next is one of its members or part of one. */
  get #inMember(): boolean {
    return this.#open.length === 1 && this.#around === 0;
  }

  #value(byte: number): void {
    if (this.#inner === undefined && this.#around === 0 && byte !== openBrace) throw this.#notAnObject();
    this.#count();
    if (this.#inMember) this.#valueAt = this.#at;
    if (byte === quote) return this.#beginString(ofValue);
    if (byte === openBrace) return this.#begin(true);
    if (byte === openBracket) return this.#begin(false);
    const isNumber = byte === minus || (byte >= zero && byte <= nine);
    const end = isNumber ? numberEnd(this.#bytes, this.#at, this.#name) : wordEnd(this.#bytes, this.#at);
    if (end === -1) throw this.#unexpected("a value");
    this.#at = end;
    this.#endValue();
  }

  #endValue(): void {
    this.#next = aComma;
    if (this.#inMember) this.members.push({ key: this.#key, start: this.#valueAt, end: this.#at });
  }

  #comma(byte: number): void {
    if (this.#inner === undefined) throw this.#refused("unexpected data after the end of the JSON value");
    const { isObject } = this.#inner;
    if (byte === comma) return this.#go(isObject ? aKey : aValue);
    if (byte === (isObject ? closeBrace : closeBracket)) return this.#close();
    throw this.#unexpected(isObject ? "',' or '}'" : "',' or ']'");
  }

  #begin(isObject: boolean): void {
    const { length } = this.#open;
    if (length + this.#around >= jsonLimits.depth) throw this.#refused(`nested deeper than ${jsonLimits.depth}`);
    const level = (this.#inner?.level ?? this.#around) + Number(isObject);
    this.#inner = { isObject, level, keys: 0, distinct: undefined };
    this.#open.push(this.#inner);
    this.#go(isObject ? aFirstKey : aFirstValue);
  }

  #close(): void {
    this.#at++;
    this.#open.pop();
    this.#inner = this.#open.at(-1);
    this.#endValue();
  }

  #beginKey(byte: number): void {
    const object = this.#inner!;
    if (++object.keys > jsonLimits.keys) throw this.#refused(`more than ${jsonLimits.keys} keys in an object`);
    if (object.keys === 1 && object.level <= jsonLimits.distinctLevels) object.distinct = new KeySet(this.#bytes);
    this.#count();
    if (byte !== quote) throw this.#unexpected("a key in double quotes");
    this.#beginString(ofKey);
  }

  #endKey(): void {
    const [start, end] = [this.#stringAt, this.#at];
    if (end - start - 2 > jsonLimits.keyBytes) {
      throw this.#refused(`key of more than ${jsonLimits.keyBytes} bytes`, start);
    }
    const { distinct } = this.#inner!;
    if (distinct && !distinct.add(start, end, this.#escaped)) {
      const key = decoded(this.#bytes, start, end, true);
      throw this.#refused(`duplicate key ${JSON.stringify(key.slice(0, 64))}`, start);
    }
    if (this.#inMember) this.#key = decoded(this.#bytes, start, end, this.#escaped);
    // Nearly always it follows at once.
    if (this.#bytes[end] === colon) this.#go(aValue);
    else this.#next = aColon;
  }

  #beginString(next: typeof ofValue | typeof ofKey): void {
    this.#stringAt = this.#at;
    this.#escaped = false;
    this.#go(next);
    this.#string();
  }

  /** As far as the piece goes. */
  #string(): void {
    const bytes = this.#bytes;
    const until = this.#until;
    let at = this.#at;
    for (;;) {
      // Four at a time: this loop is where a body of images is spent.
      while (
        at + 3 < until &&
        (plainBytes[bytes[at]!]! &
          plainBytes[bytes[at + 1]!]! &
          plainBytes[bytes[at + 2]!]! &
          plainBytes[bytes[at + 3]!]!) ===
          1
      )
        at += 4;
      while (at < until && plainBytes[bytes[at]!] === 1) at++;
      if (at >= until) return void (this.#at = at);
      const byte = bytes[at];
      if (byte === quote) break;
      if (byte !== backslash) throw this.#refused("raw control character in a string", at);
      this.#escaped = true;
      at = escapeEnd(bytes, at, this.#name);
    }
    this.#at = at + 1;
    if (this.#next === ofKey) this.#endKey();
    else this.#endValue();
  }
}
