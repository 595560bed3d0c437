/** Reads a string with missing, doubled or foreign quotes, and escapes its content as JSON requires. */
import { type Cursor, NotJson } from "./cursor.ts";
import { type StringRole, closersOf, isClosingQuote, findLostEnd } from "./quotes.ts";

/** Maximum quotes within one string, which take some thirty milliseconds. */
const maxInnerQuotes = 10_000;

const plain = /[^"'`“”‘’\\\p{Cc}]+/uy;
const unicodeEscape = /\\u[0-9a-fA-F]{4}/y;
const triple = '"""';

/**
 * Reads a string, from its opening quote to the place after it.
 * @param closing returns the brackets needed to close all open ones
 * @throws NotJson for a string with an ambiguous end or meaning
 */
export function readString(cursor: Cursor, role: StringRole, closing: () => string): void {
  if (cursor.text.startsWith(triple, cursor.at) && readTriple(cursor, role)) return;
  const { text } = cursor;
  const start = cursor.at + 1;
  const closers = closersOf(cursor.character) as string;
  if (cursor.character !== '"') cursor.replace(cursor.at, start, '"');
  cursor.at = start;
  let quotes = 0;
  while (cursor.at < text.length) {
    plain.lastIndex = cursor.at;
    if (plain.test(text)) cursor.at = plain.lastIndex;
    if (cursor.at >= text.length) break;
    const { character } = cursor;
    if (closers.includes(character)) {
      if (hasEnded(cursor, role, start)) return;
      if (++quotes > maxInnerQuotes) throw new NotJson("broken");
    }
    readWithin(cursor, character);
  }
  endLost(cursor, role, start, closing());
}

/** Reads a triple-quoted multi-line string, as in Python. @returns whether there was one */
function readTriple(cursor: Cursor, role: StringRole): boolean {
  const { text, at } = cursor;
  const start = at + triple.length;
  const end = text.indexOf(triple, start);
  if (end === -1 || !isClosingQuote(role, text, end + triple.length)) return false;
  cursor.replace(at, end + triple.length, JSON.stringify(text.slice(start, end)));
  cursor.at = end + triple.length;
  return true;
}

/** Ends the string if it ends at this quote, or ended before it. @returns whether it did */
function hasEnded(cursor: Cursor, role: StringRole, start: number): boolean {
  const { text, at } = cursor;
  if (isClosingQuote(role, text, at + 1)) {
    if (cursor.character !== '"') cursor.replace(at, at + 1, '"');
    cursor.at++;
    return true;
  }
  const lost = findLostEnd(role, text, start, at);
  if (lost === undefined) return false;
  endAt(cursor, lost);
  return true;
}

function endAt(cursor: Cursor, end: number): void {
  cursor.backTo(end);
  cursor.replace(end, end, '"');
}

/** Ends a string without a closing quote at the end of the text. This is possible only if nothing but closing brackets follows it. */
function endLost(cursor: Cursor, role: StringRole, start: number, missing: string): void {
  const { text } = cursor;
  let end = text.length;
  while (end > start && isTail(text[end - 1] as string)) end--;
  const isClosed = text.slice(end).replaceAll(/\s/g, "") === missing;
  if (role === "key" || !isClosed) throw new NotJson("truncated");
  endAt(cursor, end);
}

const isTail = (character: string): boolean => /[\s}\]]/.test(character);

/** Reads one character of a string, and escapes it if JSON requires that. */
function readWithin(cursor: Cursor, character: string): void {
  const { at } = cursor;
  if (character === "\\") return readEscape(cursor);
  if (character === '"') cursor.replace(at, at + 1, '\\"');
  else if (character < " ") cursor.replace(at, at + 1, JSON.stringify(character).slice(1, -1));
  cursor.at++;
}

function readEscape(cursor: Cursor): void {
  const { text, at } = cursor;
  const next = text[at + 1];
  unicodeEscape.lastIndex = at;
  if (next === undefined) throw new NotJson("truncated");
  if ('"\\/bfnrt'.includes(next) || (next === "u" && unicodeEscape.test(text))) cursor.at += 2;
  else if (next === "'" || next === "`") {
    cursor.replace(at, at + 1, "");
    cursor.at += 2;
  } else {
    cursor.replace(at, at + 1, "\\\\");
    cursor.at++;
  }
}
