/** Checks a JSON text byte by byte, and refuses malformed texts and texts beyond the limits. */
import { isUtf8 } from "node:buffer";
import type { Fault } from "../faults/fault.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  minusSign,
  digitNine,
  openBrace,
  openBracket,
  quote,
  spaceBytes,
  digitZero,
} from "./bytes.ts";
import type { ElementScan } from "./elements.ts";
import { OpenKeys, decodeString } from "./keys.ts";
import { jsonLimits } from "./limits.ts";
import type { JsonMember } from "./span.ts";
import {
  type OpenValue,
  expectColon,
  expectComma,
  expectFirstKey,
  expectFirstValue,
  expectKey,
  expectValue,
  inKeyString,
  inValueString,
} from "./states.ts";
import { escapeEnd, numberEnd, plainTextEnd, refusal, wordEnd } from "./tokens.ts";
import { firstInvalidUtf8 } from "./utf8.ts";
import { invalid } from "../validation/problems.ts";

/** Scanner without recursion, so it can pause between any two bytes of a string and any two tokens. */
export class JsonScanner {
  readonly members: JsonMember[] = [];
  readonly #bytes: Buffer;
  readonly #name: string;
  /** Number of arrays and objects around the text, which count towards the depth limit. */
  readonly #around: number;
  /** State of the open values, one entry per depth. Entries beyond the current depth are reused later. */
  readonly #open: OpenValue[] = [];
  #depth = 0;
  #inner: OpenValue | undefined;
  readonly #keys: OpenKeys;
  /** Arrays among the object's members; undefined when arrays are not remembered. */
  readonly #elements: ElementScan | undefined;
  #next = expectValue;
  #at = 0;
  /** Position at which the current piece ends. */
  #until = 0;
  #tokens = 0;
  /** Position of the opening quote of the current string. */
  #stringAt = 0;
  #escaped = false;
  /** Key of the member being scanned. */
  #key = "";
  #valueAt = 0;

  constructor(bytes: Uint8Array, name: string, root: "object" | "any", elements?: ElementScan) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#keys = new OpenKeys(this.#bytes);
    this.#name = name;
    this.#around = root === "object" ? 0 : 1;
    this.#elements = elements;
    checkEncoding(this.#bytes, name);
  }

  /** Scans about this many further bytes. @returns whether the text is finished */
  advance(count: number): boolean {
    const { length } = this.#bytes;
    this.#until = Math.min(length, this.#at + count);
    while (this.#at < this.#until) this.#step();
    if (this.#until < length) return false;
    this.#checkEnd();
    return true;
  }

  #checkEnd(): void {
    if (this.#next === expectComma && this.#inner === undefined) return;
    if (this.#next >= inValueString) throw this.#refused("unterminated string", this.#stringAt);
    throw this.#tokens === 0 && this.#around === 0 ? this.#notAnObject() : this.#unexpected("more");
  }

  #refused(what: string, at = this.#at): Fault {
    return refusal(this.#name, what, at);
  }

  #notAnObject(): Fault {
    return invalid(this.#name, "must be a JSON object");
  }

  #unexpected(expected: string): Fault {
    const ended = this.#at >= this.#bytes.length;
    return this.#refused(ended ? "unexpected end of JSON" : `invalid JSON, expected ${expected}`);
  }

  #step(): void {
    if (this.#next >= inValueString) return this.#string();
    const byte = this.#bytes[this.#at]!;
    if (spaceBytes[byte] === 1) return this.#skipSpace();
    switch (this.#next) {
      case expectFirstValue:
        return byte === closeBracket ? this.#close() : this.#value(byte);
      case expectKey:
        return this.#beginKey(byte);
      case expectFirstKey:
        return byte === closeBrace ? this.#close() : this.#beginKey(byte);
      case expectColon:
        if (byte !== colon) throw this.#unexpected("':'");
        return this.#go(expectValue);
      case expectComma:
        return this.#comma(byte);
      default:
        return this.#value(byte);
    }
  }

  /** Moves past one byte to the next state. */
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

  /** Whether the text is an object and the scanner is at its top level. */
  get #inMember(): boolean {
    return this.#depth === 1 && this.#around === 0;
  }

  #value(byte: number): void {
    if (this.#inner === undefined && this.#around === 0 && byte !== openBrace) throw this.#notAnObject();
    this.#count();
    if (this.#inMember) this.#valueAt = this.#at;
    if (byte === quote) return this.#beginString(inValueString);
    if (byte === openBrace) return this.#begin(true);
    if (byte === openBracket) return this.#beginArray();
    const isNumber = byte === minusSign || (byte >= digitZero && byte <= digitNine);
    const end = isNumber ? numberEnd(this.#bytes, this.#at, this.#name) : wordEnd(this.#bytes, this.#at);
    if (end === -1) throw this.#unexpected("a value");
    this.#at = end;
    this.#endValue();
  }

  #endValue(): void {
    this.#next = expectComma;
    if (this.#inMember) {
      const array = this.#elements?.finish();
      this.members.push({ key: this.#key, start: this.#valueAt, end: this.#at, array });
    } else if (this.#depth === 2 && !this.#inner!.isObject) this.#elements?.add(this.#at, this.#tokens);
  }

  #beginArray(): void {
    const isMember = this.#inMember;
    const start = this.#at;
    this.#begin(false);
    const elements = this.#elements;
    if (elements === undefined || !isMember) return;
    elements.begin(start, this.#tokens);
    if (elements.end === -1) return;
    this.#tokens += elements.knownTokens - 1;
    this.#count();
    this.#at = elements.end;
    this.#next = expectComma;
  }

  #comma(byte: number): void {
    if (this.#inner === undefined) throw this.#refused("unexpected data after the end of the JSON value");
    const { isObject } = this.#inner;
    if (byte === comma) return this.#go(isObject ? expectKey : expectValue);
    if (byte === (isObject ? closeBrace : closeBracket)) return this.#close();
    throw this.#unexpected(isObject ? "',' or '}'" : "',' or ']'");
  }

  #begin(isObject: boolean): void {
    if (this.#depth + this.#around >= jsonLimits.depth) throw this.#refused(`nested deeper than ${jsonLimits.depth}`);
    const level = (this.#inner?.level ?? this.#around) + Number(isObject);
    const inner = (this.#open[this.#depth++] ??= { isObject, level, keys: 0, firstKey: -1, decoded: undefined });
    inner.isObject = isObject;
    inner.level = level;
    inner.keys = 0;
    inner.firstKey = -1;
    inner.decoded = undefined;
    this.#inner = inner;
    this.#go(isObject ? expectFirstKey : expectFirstValue);
  }

  #close(): void {
    this.#at++;
    this.#keys.end(this.#inner!);
    this.#inner = --this.#depth === 0 ? undefined : this.#open[this.#depth - 1];
    this.#endValue();
  }

  #beginKey(byte: number): void {
    const object = this.#inner!;
    if (++object.keys > jsonLimits.keys) throw this.#refused(`more than ${jsonLimits.keys} keys in an object`);
    if (object.keys === 1 && object.level <= jsonLimits.distinctLevels) this.#keys.begin(object);
    this.#count();
    if (byte !== quote) throw this.#unexpected("a key in double quotes");
    this.#beginString(inKeyString);
  }

  #endKey(): void {
    const start = this.#stringAt;
    const end = this.#at;
    if (end - start - 2 > jsonLimits.keyBytes) {
      throw this.#refused(`key of more than ${jsonLimits.keyBytes} bytes`, start);
    }
    const object = this.#inner!;
    if (object.firstKey !== -1 && !this.#keys.add(object, start, end, this.#escaped)) {
      const key = decodeString(this.#bytes, start, end, true);
      throw this.#refused(`duplicate key ${JSON.stringify(key.slice(0, 64))}`, start);
    }
    if (this.#inMember) this.#key = decodeString(this.#bytes, start, end, this.#escaped);
    // A colon nearly always follows the key at once, so this is checked first.
    if (this.#bytes[end] === colon) this.#go(expectValue);
    else this.#next = expectColon;
  }

  #beginString(next: typeof inValueString | typeof inKeyString): void {
    this.#stringAt = this.#at;
    this.#escaped = false;
    this.#go(next);
    this.#string();
  }

  /** Scans the string to its end, or to the end of the piece. */
  #string(): void {
    const bytes = this.#bytes;
    const until = this.#until;
    let at = this.#at;
    for (;;) {
      at = plainTextEnd(bytes, at, until);
      if (at >= until) return void (this.#at = at);
      const byte = bytes[at];
      if (byte === quote) break;
      if (byte !== backslash) throw this.#refused("raw control character in a string", at);
      this.#escaped = true;
      at = escapeEnd(bytes, at, this.#name);
    }
    this.#at = at + 1;
    if (this.#next === inKeyString) this.#endKey();
    else this.#endValue();
  }
}

/** @throws Fault INVALID_REQUEST for bytes that cannot be JSON: no bytes, a byte order mark, or invalid UTF-8 */
function checkEncoding(bytes: Buffer, name: string): void {
  if (bytes.length === 0) throw invalid(name, "must not be empty");
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) throw refusal(name, "byte order mark", 0);
  if (!isUtf8(bytes)) throw refusal(name, "invalid UTF-8", firstInvalidUtf8(bytes));
}
