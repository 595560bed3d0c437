/**
 * Whether a text is JSON, told without making anything of it and in pieces: `JSON.parse` takes seconds for ten megabytes of brackets, and nobody
 * gets a turn meanwhile.
 */
import type { Pauses } from "../turn/breath.ts";

/** UTF-16 units that are read at once: a millisecond here, and four for the native parser at its slowest. */
const atOnce = 16_384;

/** The same verdict as that of `JSON.parse`. */
export function* isJson(text: string): Pauses<boolean> {
  if (text.length <= atOnce) return parses(text);
  const form = new JsonForm(text);
  while (form.at < text.length) {
    if (!form.read(form.at + atOnce)) return false;
    yield;
  }
  return form.isWhole;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What may come next; `string` and `key` are left in the middle when a piece ends there. */
type Expected = "value" | "value or ]" | "name" | "name or }" | "colon" | "more" | "string" | "key" | "end";

const plain = Uint8Array.from({ length: 128 }, (_, unit) => Number(unit >= 0x20 && unit !== 0x22 && unit !== 0x5c));
const escape = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;
/** What has more digits than that in a row is no number to us, but a text to be read as it is. */
const scalar = /true|false|null|-?(?:0|[1-9][0-9]{0,1000})(?:\.[0-9]{1,1000})?(?:[eE][+-]?[0-9]{1,1000})?/y;

class JsonForm {
  /** What was read. */
  at = 0;
  readonly #text: string;
  #expected: Expected = "value";
  #depth = 0;
  /** By depth, a bit: whether it is an object. */
  readonly #objects: Uint8Array;

  constructor(text: string) {
    this.#text = text;
    this.#objects = new Uint8Array((text.length >> 3) + 1);
  }

  get isWhole(): boolean {
    return this.#expected === "end";
  }

  /** Up to a place, or a little further. @returns whether it can still become JSON */
  read(until: number): boolean {
    const end = Math.min(until, this.#text.length);
    while (this.at < end) {
      const inString = this.#expected === "string" || this.#expected === "key";
      if (!(inString ? this.#string(end) : this.#sign(this.#text.charCodeAt(this.at)))) return false;
    }
    return true;
  }

  #string(until: number): boolean {
    const text = this.#text;
    let { at } = this;
    for (; at < until; at++) {
      const unit = text.charCodeAt(at);
      if (unit > 0x7f || plain[unit] === 1) continue;
      if (unit === 0x22) {
        this.at = at + 1;
        return this.#expect(this.#expected === "key" ? "colon" : this.#afterValue());
      }
      escape.lastIndex = at;
      if (!escape.test(text)) return false;
      at = escape.lastIndex - 1;
    }
    this.at = at;
    return true;
  }

  #sign(unit: number): boolean {
    const expected = this.#expected;
    if (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) return this.#pass(expected);
    switch (expected) {
      case "value":
      case "value or ]":
        return expected === "value or ]" && unit === 0x5d ? this.#close() : this.#value(unit);
      case "name":
      case "name or }":
        if (unit === 0x22) return this.#pass("key");
        return expected === "name or }" && unit === 0x7d && this.#close();
      case "colon":
        return unit === 0x3a && this.#pass("value");
      case "more":
        if (unit === 0x2c) return this.#pass(this.#isObject ? "name" : "value");
        return unit === (this.#isObject ? 0x7d : 0x5d) && this.#close();
      default:
        return false;
    }
  }

  #value(unit: number): boolean {
    if (unit === 0x22) return this.#pass("string");
    if (unit === 0x5b || unit === 0x7b) return this.#open(unit === 0x7b);
    scalar.lastIndex = this.at;
    if (!scalar.test(this.#text)) return false;
    this.at = scalar.lastIndex;
    return this.#expect(this.#afterValue());
  }

  #open(isObject: boolean): boolean {
    const bit = 1 << (this.#depth & 7);
    const place = this.#depth >> 3;
    const others = (this.#objects[place] as number) & ~bit;
    this.#objects[place] = isObject ? others | bit : others;
    this.#depth++;
    return this.#pass(isObject ? "name or }" : "value or ]");
  }

  #close(): boolean {
    this.#depth--;
    return this.#pass(this.#afterValue());
  }

  get #isObject(): boolean {
    const inner = this.#depth - 1;
    return (((this.#objects[inner >> 3] as number) >> (inner & 7)) & 1) === 1;
  }

  #afterValue(): Expected {
    return this.#depth === 0 ? "end" : "more";
  }

  #pass(expected: Expected): boolean {
    this.at++;
    return this.#expect(expected);
  }

  #expect(expected: Expected): boolean {
    this.#expected = expected;
    return true;
  }
}
