/** Escapes at the beginning of a text that may go on. */

export interface Escape {
  /** UTF-16 units that it takes. */
  readonly length: number;
  readonly said: string;
}

/** Of four bytes. */
export const longestEscape = 16;

const json = /^\\u(?:[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|[0-9A-Fa-f]{4})/;
const openJson =
  /^\\(?:u(?:[0-9A-Fa-f]{0,3}|[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?))?$/;

/** Bytes of UTF-8, each behind a sign. */
interface Bytes {
  readonly sign: "%" | "\\x";
  readonly some: RegExp;
  readonly open: RegExp;
}

const url: Bytes = {
  sign: "%",
  some: /^(?:%[0-9A-Fa-f]{2})+/,
  open: /^(?:%[0-9A-Fa-f]{2})*(?:%[0-9A-Fa-f]?)?$/,
};
const code: Bytes = {
  sign: "\\x",
  some: /^(?:\\x[0-9A-Fa-f]{2})+/,
  open: /^(?:\\x[0-9A-Fa-f]{2})*(?:\\(?:x[0-9A-Fa-f]?)?)?$/,
};

/** One character of `%xx`, `\xxx` and `\uxxxx`; "open" when that depends on what comes next. @param text begins with either sign, no more than `longestEscape` */
export function escapeIn(text: string): Escape | "open" | undefined {
  if (text.startsWith("%")) return bytesIn(text, url);
  return text.startsWith("\\x") ? bytesIn(text, code) : jsonEscapeIn(text);
}

function jsonEscapeIn(text: string): Escape | "open" | undefined {
  if (openJson.test(text)) return "open";
  const found = json.exec(text)?.[0];
  return found === undefined ? undefined : { length: found.length, said: JSON.parse(`"${found}"`) as string };
}

function bytesIn(text: string, { sign, some, open }: Bytes): Escape | "open" | undefined {
  const first = text.slice(sign.length, sign.length + 1);
  const length = (sign.length + 2) * bytesOf(Number.parseInt(first, 16));
  if (text.length < length && open.test(text)) return "open";
  const found = some.exec(text)?.[0].slice(0, length);
  if (found === undefined) return undefined;
  try {
    return { length: found.length, said: decodeURIComponent(found.replaceAll(sign, "%")) };
  } catch {
    return undefined;
  }
}

/** By the first half of the first byte of a character in UTF-8. */
const bytesOf = (half: number): number => (half < 0xc || Number.isNaN(half) ? 1 : Math.max(2, half - 0xb));
