/**
 * Decodes one escaped character at the start of a text: `%xx`, `\xxx`, `\uxxxx`, `\u{x}`, `\Uxxxxxxxx` or an HTML
 * entity.
 */
import { type DecodedEscape, readEntity } from "./entities.ts";

/** Maximum UTF-16 units of an escape: the longest entity name has 33, and its "&" may itself be written as an entity twice. */
export const maxEscapeLength = 48;

/** A form of escapes of UTF-8 bytes. The sign in front may be escaped itself: `%2570` is `%70`, and `\\x70` is `\x70` within JSON. */
interface ByteForm {
  readonly unit: RegExp;
  /** Matches the start of an escape cut off by the end of the text. */
  readonly open: RegExp;
}

const percent: ByteForm = { unit: /%(?:25){0,2}([0-9A-Fa-f]{2})/y, open: /^%(?:25){0,2}[0-9A-Fa-f]?$/ };
const backslash: ByteForm = { unit: /\\{1,4}x([0-9A-Fa-f]{2})/y, open: /^\\{1,4}(?:x[0-9A-Fa-f]?)?$/ };

const braced = /^\\{1,4}u\{([0-9A-Fa-f]{1,8})\}/;
const long = /^\\{1,4}U([0-9A-Fa-f]{8})/;
const json = /^\\{1,4}u([0-9A-Fa-f]{4})/;
const lowHalf = /^\\{1,4}u([dD][c-fC-F][0-9A-Fa-f]{2})/;
const openLetter = /^\\{1,4}(?:u(?:[0-9A-Fa-f]{0,3}|\{[0-9A-Fa-f]{0,8})|U[0-9A-Fa-f]{0,7})?$/;
const openLowHalf = /^(?:\\{1,4}(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?$/;

/**
 * Reads the escape at the start of the text. "open" means that further text decides.
 * @param text starts with "%", "\" or "&" and has at most `maxEscapeLength` units
 * @param isOver whether no text follows
 */
export function readEscape(text: string, isOver: boolean): DecodedEscape | "open" | undefined {
  const goesOn = !isOver && text.length < maxEscapeLength;
  if (text.startsWith("&")) return readEntity(text, goesOn);
  if (text.startsWith("%")) return readBytes(text, percent, goesOn);
  return readBytes(text, backslash, goesOn) ?? readLetter(text, goesOn);
}

function readBytes(text: string, { unit, open }: ByteForm, goesOn: boolean): DecodedEscape | "open" | undefined {
  let decoded = "";
  let start = 0;
  let end = 0;
  for (let left = 1; left > 0; left--) {
    start = unit.lastIndex = end;
    const digits = unit.exec(text)?.[1];
    if (digits === undefined) return goesOn && open.test(text.slice(start)) ? "open" : undefined;
    if (start === 0) left = byteCountBy(Number.parseInt(digits, 16));
    end = unit.lastIndex;
    decoded += `%${digits}`;
  }
  // "%25" may be the escaped percent sign of a further escape.
  if (goesOn && open.test(text.slice(start))) return "open";
  try {
    return { length: end, decoded: decodeURIComponent(decoded) };
  } catch {
    return undefined;
  }
}

/** Number of UTF-8 bytes in a character, by its first byte. */
const byteCountBy = (first: number): number => (first < 0xc0 ? 1 : Math.max(2, (first >> 4) - 0xb));

function readLetter(text: string, goesOn: boolean): DecodedEscape | "open" | undefined {
  if (goesOn && openLetter.test(text)) return "open";
  const first = json.exec(text);
  if (first) return readSurrogates(text, first, goesOn);
  const found = braced.exec(text) ?? long.exec(text);
  const point = Number.parseInt(found?.[1] ?? "", 16);
  if (!found || point > 0x10ffff) return undefined;
  return { length: found[0].length, decoded: String.fromCodePoint(point) };
}

/** Reads a character beyond the basic plane, which is escaped as two surrogates. */
function readSurrogates(text: string, [first, digits = ""]: RegExpExecArray, goesOn: boolean): DecodedEscape | "open" {
  const decoded = String.fromCharCode(Number.parseInt(digits, 16));
  const one = { length: first.length, decoded };
  if (!/[\ud800-\udbff]/.test(decoded)) return one;
  const rest = text.slice(first.length);
  const second = lowHalf.exec(rest);
  if (!second) return goesOn && openLowHalf.test(rest) ? "open" : one;
  const low = String.fromCharCode(Number.parseInt(second[1] as string, 16));
  return { length: first.length + second[0].length, decoded: decoded + low };
}
