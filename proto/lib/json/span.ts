/** Finds and copies parts of a JSON text without parsing it. The text must have been accepted by the scanner. */
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  plainBytes,
  quote,
  structuralBytes,
} from "./bytes.ts";
import type { ScannedArray } from "./scanned-array.ts";

/** Position of the first byte of a value, and the position after its last byte. */
export interface ByteSpan {
  readonly start: number;
  readonly end: number;
}

export interface JsonMember extends ByteSpan {
  /** The key, decoded. */
  readonly key: string;
  /** Elements of the member, if it is an array that the scan recorded. */
  readonly array?: ScannedArray | undefined;
}

/** Members of the object at `start`; empty for any other value. */
export function membersOf(bytes: Buffer, start = 0): JsonMember[] {
  const members: JsonMember[] = [];
  let at = enter(bytes, start, openBrace);
  while (bytes[at] === quote) {
    const keyEnd = skipString(bytes, at);
    const key = JSON.parse(bytes.toString("utf8", at, keyEnd)) as string;
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = skipValue(bytes, valueStart);
    members.push({ key, start: valueStart, end });
    at = skipComma(bytes, end);
  }
  return members;
}

/**
 * Replaces members of an object's text; all other members stay exactly as written.
 * @param changed new JSON by key; undefined removes the member
 */
export function withMembers(json: string, changed: Readonly<Record<string, string | undefined>>): string {
  const bytes = Buffer.from(json);
  const kept = membersOf(bytes)
    .filter(({ key }) => !Object.hasOwn(changed, key))
    .map(({ key, start, end }) => `${JSON.stringify(key)}:${bytes.toString("utf8", start, end)}`);
  const written = Object.entries(changed)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${JSON.stringify(key)}:${value}`);
  return `{${[...kept, ...written].join(",")}}`;
}

/**
 * The first member with this name in the object at `start`; undefined for any other value. Later members are not read.
 */
export function memberOf(bytes: Buffer, start: number, name: string): ByteSpan | undefined {
  let at = enter(bytes, start, openBrace);
  while (bytes[at] === quote) {
    const keyEnd = skipString(bytes, at);
    const valueStart = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = skipValue(bytes, valueStart);
    if (isKey(bytes, at, keyEnd, name)) return { start: valueStart, end };
    at = skipComma(bytes, end);
  }
  return undefined;
}

/** Elements of the array at `start`; empty for any other value. */
export function elementsOf(bytes: Buffer, start = 0): ByteSpan[] {
  const elements: ByteSpan[] = [];
  let at = enter(bytes, start, openBracket);
  while (at < bytes.length && bytes[at] !== closeBracket) {
    const end = skipValue(bytes, at);
    elements.push({ start: at, end });
    at = skipComma(bytes, end);
  }
  return elements;
}

/**
 * One element of the array at `start`.
 * @param ends end positions of the elements up to this one, relative to the opening bracket
 */
export function elementAt(bytes: Buffer, start: number, ends: readonly number[], index: number): ByteSpan {
  const first = index === 0 ? enter(bytes, start, openBracket) : skipComma(bytes, start + ends[index - 1]!);
  return { start: first, end: start + ends[index]! };
}

/** Removes the line breaks between tokens. Unlike with parsing and printing, nothing is rounded or reordered. */
export function removeLineBreaks(bytes: Buffer): string {
  if (!bytes.includes(0x0a) && !bytes.includes(0x0d)) return bytes.toString("utf8");
  const kept = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let at = 0;
  while (at < bytes.length) {
    const end = bytes[at] === quote ? skipString(bytes, at) : at + 1;
    if (!isSpace(bytes[at])) length += bytes.copy(kept, length, at, end);
    at = end;
  }
  return kept.toString("utf8", 0, length);
}

/** Position of the first member or element; the end of the text for a value of another kind. */
function enter(bytes: Buffer, start: number, opening: number): number {
  const at = skipSpace(bytes, start);
  return bytes[at] === opening ? skipSpace(bytes, at + 1) : bytes.length;
}

/** Position after the comma that follows `end`, or that of the closing bracket. */
function skipComma(bytes: Buffer, end: number): number {
  const at = skipSpace(bytes, end);
  return bytes[at] === comma ? skipSpace(bytes, at + 1) : at;
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at++;
  return at;
}

/**
 * Whether a quoted key has this name. Most keys differ in length already, because an escape only makes a key longer.
 */
function isKey(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start - 2 < name.length) return false;
  return JSON.parse(bytes.toString("utf8", start, end)) === name;
}

/** Position after a string. @param from position of the opening quote */
function skipString(bytes: Buffer, from: number): number {
  const length = bytes.length;
  let at = from + 1;
  while (at < length) {
    while (plainBytes[bytes[at]!] === 1) at++;
    if (bytes[at] !== backslash) break;
    at += 2;
  }
  return at + 1;
}

function skipValue(bytes: Buffer, from: number): number {
  const byte = bytes[from];
  if (byte === quote) return skipString(bytes, from);
  if (byte === openBrace || byte === openBracket) return skipContainer(bytes, from);
  let at = from;
  while (at < bytes.length && !endsWord(bytes[at])) at++;
  return at;
}

const endsWord = (byte: number | undefined): boolean =>
  byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte);

function skipContainer(bytes: Buffer, from: number): number {
  const length = bytes.length;
  let at = from;
  let depth = 0;
  do {
    while (at < length && structuralBytes[bytes[at]!] === 0) at++;
    const byte = bytes[at];
    if (byte === openBrace || byte === openBracket) depth++;
    else if (byte !== quote) depth--;
    at = byte === quote ? skipString(bytes, at) : at + 1;
  } while (depth > 0 && at < length);
  return at;
}

/**
 * Adds the end positions of all further elements to those of the first elements.
 * @param bytes text of an array
 */
export function addElementEnds(bytes: Buffer, ends: number[]): void {
  const last = ends.at(-1);
  let at = last === undefined ? enter(bytes, 0, openBracket) : skipComma(bytes, last);
  while (at < bytes.length && bytes[at] !== closeBracket) {
    const end = skipValue(bytes, at);
    ends.push(end);
    at = skipComma(bytes, end);
  }
}
