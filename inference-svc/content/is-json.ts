/**
 * Checks whether a text is JSON in short steps and without building its value: `JSON.parse` blocks the process for
 * seconds on ten megabytes of brackets.
 */
import type { Yielding } from "../turn/time-slice.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** UTF-16 units per step: 1 ms in this code, and at worst 4 ms in the native parser. */
const unitsPerStep = 16_384;

/** Whether a text is JSON, with the same result as `JSON.parse`. */
export function* isJson(text: string): Yielding<boolean> {
  if (text.length <= unitsPerStep) return parsesNatively(text);
  const form = new JsonValidator(text);
  while (form.position < text.length) {
    if (!form.readUntil(form.position + unitsPerStep)) return false;
    yield;
  }
  return form.isWhole;
}

function parsesNatively(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The next token allowed; `string` and `key` mean that the last step ended inside such a token. */
type Expected = "value" | "value or ]" | "name" | "name or }" | "colon" | "more" | "string" | "key" | "end";

const plainUnits = Uint8Array.from({ length: 128 }, (_, unit) =>
  Number(unit >= 0x20 && unit !== 0x22 && unit !== 0x5c),
);
const escape = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;
/** Matches a scalar. A number with more than a thousand digits in a row is not accepted, so its text is scanned as plain text. */
const scalar = /true|false|null|-?(?:0|[1-9][0-9]{0,1000})(?:\.[0-9]{1,1000})?(?:[eE][+-]?[0-9]{1,1000})?/y;

class JsonValidator {
  /** UTF-16 units read so far. */
  position = 0;
  readonly #text: string;
  #expected: Expected = "value";
  #depth = 0;
  /** One bit for each nesting depth: 1 for an object, 0 for an array. */
  readonly #objects: Uint8Array;

  constructor(text: string) {
    this.#text = text;
    this.#objects = new Uint8Array((text.length >> 3) + 1);
  }

  get isWhole(): boolean {
    return this.#expected === "end";
  }

  /**
   * Reads to the offset `until`, or to the end of the token there.
   * @returns whether the text can still become JSON
   */
  readUntil(until: number): boolean {
    const end = Math.min(until, this.#text.length);
    while (this.position < end) {
      const inString = this.#expected === "string" || this.#expected === "key";
      if (!(inString ? this.#readString(end) : this.#readToken(unitAt(this.#text, this.position)))) return false;
    }
    return true;
  }

  #readString(until: number): boolean {
    const text = this.#text;
    let { position: at } = this;
    for (; at < until; at++) {
      const unit = unitAt(text, at);
      if (unit > 0x7f || plainUnits[unit] === 1) continue;
      if (unit === 0x22) {
        this.position = at + 1;
        return this.#expect(this.#expected === "key" ? "colon" : this.#expectedAfterValue());
      }
      escape.lastIndex = at;
      if (!escape.test(text)) return false;
      at = escape.lastIndex - 1;
    }
    this.position = at;
    return true;
  }

  #readToken(unit: number): boolean {
    const expected = this.#expected;
    if (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) return this.#skipTo(expected);
    switch (expected) {
      case "value":
      case "value or ]":
        return expected === "value or ]" && unit === 0x5d ? this.#close() : this.#readValue(unit);
      case "name":
      case "name or }":
        if (unit === 0x22) return this.#skipTo("key");
        return expected === "name or }" && unit === 0x7d && this.#close();
      case "colon":
        return unit === 0x3a && this.#skipTo("value");
      case "more":
        if (unit === 0x2c) return this.#skipTo(this.#isInObject ? "name" : "value");
        return unit === (this.#isInObject ? 0x7d : 0x5d) && this.#close();
      default:
        return false;
    }
  }

  #readValue(unit: number): boolean {
    if (unit === 0x22) return this.#skipTo("string");
    if (unit === 0x5b || unit === 0x7b) return this.#open(unit === 0x7b);
    scalar.lastIndex = this.position;
    if (!scalar.test(this.#text)) return false;
    this.position = scalar.lastIndex;
    return this.#expect(this.#expectedAfterValue());
  }

  #open(isObject: boolean): boolean {
    const bit = 1 << (this.#depth & 7);
    const place = this.#depth >> 3;
    const others = (this.#objects[place] as number) & ~bit;
    this.#objects[place] = isObject ? others | bit : others;
    this.#depth++;
    return this.#skipTo(isObject ? "name or }" : "value or ]");
  }

  #close(): boolean {
    this.#depth--;
    return this.#skipTo(this.#expectedAfterValue());
  }

  get #isInObject(): boolean {
    const inner = this.#depth - 1;
    return (((this.#objects[inner >> 3] as number) >> (inner & 7)) & 1) === 1;
  }

  #expectedAfterValue(): Expected {
    return this.#depth === 0 ? "end" : "more";
  }

  #skipTo(expected: Expected): boolean {
    this.position++;
    return this.#expect(expected);
  }

  #expect(expected: Expected): boolean {
    this.#expected = expected;
    return true;
  }
}
