/** Finds the ends of escapes, plain characters, numbers and words in a JSON text. */
import type { Fault } from "../faults/fault.ts";
import { backslash, escapeBytes, hexDigits, minusSign, numberBytes, plainBytes } from "./bytes.ts";
import { jsonLimits } from "./limits.ts";
import { invalid } from "../validation/problems.ts";

/** The error for a refused text. @param name path of the text in the request */
export const refusal = (name: string, what: string, at: number): Fault => invalid(name, `${what} at byte ${at}`);

/** Position of the first byte that ends the string, begins an escape, or is refused; `until` when there is none. */
export function plainTextEnd(bytes: Buffer, start: number, until: number): number {
  let at = start;
  // Four bytes are checked at a time, because bodies with images spend most of their time in this loop.
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
  return at;
}

/**
 * Position after the escape at `at`.
 * @throws Fault INVALID_REQUEST for an invalid escape or a lone surrogate
 */
export function escapeEnd(bytes: Buffer, at: number, name: string): number {
  const next = bytes[at + 1] ?? 0;
  if (next !== 0x75) {
    if (escapeBytes[next] !== 1) throw refusal(name, "invalid escape", at);
    return at + 2;
  }
  const unit = unitAt(bytes, at, name);
  if ((unit & 0xf800) !== 0xd800) return at + 6;
  const paired = (unit & 0xfc00) === 0xd800 && bytes[at + 6] === backslash && bytes[at + 7] === 0x75;
  if (!paired || (unitAt(bytes, at + 6, name) & 0xfc00) !== 0xdc00) throw refusal(name, "lone surrogate", at);
  return at + 12;
}

/** The UTF-16 code unit of the escape `\uXXXX` at a position. */
function unitAt(bytes: Buffer, at: number, name: string): number {
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexDigits[bytes[i] ?? 0] as number;
    if (digit > 15) throw refusal(name, "invalid escape", at);
    unit = unit * 16 + digit;
  }
  return unit;
}

const numberForm = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Position after a number. @throws Fault INVALID_REQUEST for an invalid number, or one that is too long or too large
 * for a double
 */
export function numberEnd(bytes: Buffer, start: number, name: string): number {
  let at = start;
  while (numberBytes[bytes[at] ?? 0] === 1) at++;
  if (at - start > jsonLimits.numberLength) {
    throw refusal(name, `number of more than ${jsonLimits.numberLength} characters`, start);
  }
  const isOneDigit = at === start + 1 && bytes[start] !== minusSign;
  if (isOneDigit) return at;
  const text = bytes.toString("latin1", start, at);
  if (!numberForm.test(text)) throw refusal(name, "invalid number", start);
  if (!Number.isFinite(Number(text))) throw refusal(name, "number out of range", start);
  return at;
}

const words: Readonly<Record<number, string>> = { 0x74: "true", 0x66: "false", 0x6e: "null" };

/** Position after `true`, `false` or `null`; -1 for anything else. */
export function wordEnd(bytes: Buffer, start: number): number {
  const word = words[bytes[start]!];
  if (word === undefined) return -1;
  for (let i = 1; i < word.length; i++) {
    if (bytes[start + i] !== word.charCodeAt(i)) return -1;
  }
  return start + word.length;
}
