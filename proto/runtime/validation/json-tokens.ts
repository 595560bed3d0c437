/** Where the escapes, numbers and words of a JSON text end, for whoever reads its bytes. */
import type { Fault } from "../fault.ts";
import { backslash, escapeBytes, hexDigits, minus, numberBytes } from "./json-bytes.ts";
import { jsonLimits } from "./json-limits.ts";
import { invalid } from "./problems.ts";

/** Why a text is not read. @param name what it is reported under */
export const refused = (name: string, what: string, at: number): Fault => invalid(name, `${what} at byte ${at}`);

/**
 * Where a string goes on behind the escape that begins at a byte.
 * @throws Fault INVALID_REQUEST for what is none, and for half of a surrogate pair
 */
export function escapeEnd(bytes: Buffer, at: number, name: string): number {
  const next = bytes[at + 1] ?? 0;
  if (next !== 0x75) {
    if (escapeBytes[next] !== 1) throw refused(name, "invalid escape", at);
    return at + 2;
  }
  const unit = unitAt(bytes, at, name);
  if ((unit & 0xf800) !== 0xd800) return at + 6;
  const paired = (unit & 0xfc00) === 0xd800 && bytes[at + 6] === backslash && bytes[at + 7] === 0x75;
  if (!paired || (unitAt(bytes, at + 6, name) & 0xfc00) !== 0xdc00) throw refused(name, "lone surrogate", at);
  return at + 12;
}

/** The UTF-16 unit of the escape `\uXXXX` at a byte. */
function unitAt(bytes: Buffer, at: number, name: string): number {
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexDigits[bytes[i] ?? 0] as number;
    if (digit > 15) throw refused(name, "invalid escape", at);
    unit = unit * 16 + digit;
  }
  return unit;
}

const numberForm = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** @throws Fault INVALID_REQUEST for what is no number, too long or beyond what a double holds */
export function numberEnd(bytes: Buffer, start: number, name: string): number {
  let at = start;
  while (numberBytes[bytes[at] ?? 0] === 1) at++;
  if (at - start > jsonLimits.numberLength) {
    throw refused(name, `number of more than ${jsonLimits.numberLength} characters`, start);
  }
  const isOneDigit = at === start + 1 && bytes[start] !== minus;
  if (isOneDigit) return at;
  const text = bytes.toString("latin1", start, at);
  if (!numberForm.test(text)) throw refused(name, "invalid number", start);
  if (!Number.isFinite(Number(text))) throw refused(name, "number out of range", start);
  return at;
}

const words: Readonly<Record<number, string>> = { 0x74: "true", 0x66: "false", 0x6e: "null" };

/** -1 where none of `true`, `false` and `null` stands. */
export function wordEnd(bytes: Buffer, start: number): number {
  const word = words[bytes[start]!];
  if (word === undefined) return -1;
  for (let i = 1; i < word.length; i++) {
    if (bytes[start + i] !== word.charCodeAt(i)) return -1;
  }
  return start + word.length;
}
