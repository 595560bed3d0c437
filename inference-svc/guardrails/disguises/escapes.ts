/** One escaped character at the beginning of a text: `%xx`, `\xxx`, `\uxxxx`, `\u{x}`, `\Uxxxxxxxx` and the entities of HTML. */
import { type Escape, entityIn } from "./entities.ts";

/** Longest escape that is read, in UTF-16 units: the longest name of an entity (33) whose "&" is itself written as an entity twice. */
export const maxEscape = 48;

/** Bytes of UTF-8, each written behind a sign. A sign may itself be escaped: `%2570` is `%70`, and `\\x70` is `\x70` within JSON. */
interface ByteForm {
  readonly unit: RegExp;
  /** A unit that goes on where the text ends. */
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
 * "open" when it depends on what comes next.
 * @param text begins with "%", "\" or "&", no more than `maxEscape`
 * @param isOver whether nothing comes behind the text
 */
export function escapeIn(text: string, isOver: boolean): Escape | "open" | undefined {
  const goesOn = !isOver && text.length < maxEscape;
  if (text.startsWith("&")) return entityIn(text, goesOn);
  if (text.startsWith("%")) return bytesIn(text, percent, goesOn);
  return bytesIn(text, backslash, goesOn) ?? letterIn(text, goesOn);
}

function bytesIn(text: string, { unit, open }: ByteForm, goesOn: boolean): Escape | "open" | undefined {
  let said = "";
  let start = 0;
  let end = 0;
  for (let left = 1; left > 0; left--) {
    start = unit.lastIndex = end;
    const digits = unit.exec(text)?.[1];
    if (digits === undefined) return goesOn && open.test(text.slice(start)) ? "open" : undefined;
    if (start === 0) left = byteCountBy(Number.parseInt(digits, 16));
    end = unit.lastIndex;
    said += `%${digits}`;
  }
  // "%25" may be the sign of a further one.
  if (goesOn && open.test(text.slice(start))) return "open";
  try {
    return { length: end, said: decodeURIComponent(said) };
  } catch {
    return undefined;
  }
}

/** Bytes of a character in UTF-8, by its first one. */
const byteCountBy = (first: number): number => (first < 0xc0 ? 1 : Math.max(2, (first >> 4) - 0xb));

function letterIn(text: string, goesOn: boolean): Escape | "open" | undefined {
  if (goesOn && openLetter.test(text)) return "open";
  const first = json.exec(text);
  if (first) return halvesIn(text, first, goesOn);
  const found = braced.exec(text) ?? long.exec(text);
  const point = Number.parseInt(found?.[1] ?? "", 16);
  if (!found || point > 0x10ffff) return undefined;
  return { length: found[0].length, said: String.fromCodePoint(point) };
}

/** A letter beyond the basic plane is written as two. */
function halvesIn(text: string, [first, digits = ""]: RegExpExecArray, goesOn: boolean): Escape | "open" {
  const said = String.fromCharCode(Number.parseInt(digits, 16));
  const one = { length: first.length, said };
  if (!/[\ud800-\udbff]/.test(said)) return one;
  const rest = text.slice(first.length);
  const second = lowHalf.exec(rest);
  if (!second) return goesOn && openLowHalf.test(rest) ? "open" : one;
  const low = String.fromCharCode(Number.parseInt(second[1] as string, 16));
  return { length: first.length + second[0].length, said: said + low };
}
