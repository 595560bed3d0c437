/** Escapes at the beginning of a text that may go on. */

export interface Escape {
  /** UTF-16 units that it takes. */
  readonly length: number;
  readonly said: string;
}

/** Of four bytes, or of two halves of a character. */
export const longestEscape = 12;

const json = /^\\u(?:[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}|[0-9A-Fa-f]{4})/;
const openJson =
  /^\\(?:u(?:[0-9A-Fa-f]{0,3}|[dD][89abAB][0-9A-Fa-f]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9A-Fa-f]?)?)?)?)?))?$/;
const url = /^(?:%[0-9A-Fa-f]{2})+/;
const openUrl = /^(?:%[0-9A-Fa-f]{2})*(?:%[0-9A-Fa-f]?)?$/;

/** One character of `%xx` and `\uxxxx`; "open" when that depends on what comes next. @param text begins with either sign, no more than `longestEscape` */
export const escapeIn = (text: string): Escape | "open" | undefined =>
  text.startsWith("%") ? urlEscapeIn(text) : jsonEscapeIn(text);

function jsonEscapeIn(text: string): Escape | "open" | undefined {
  if (openJson.test(text)) return "open";
  const found = json.exec(text)?.[0];
  return found === undefined ? undefined : { length: found.length, said: JSON.parse(`"${found}"`) as string };
}

function urlEscapeIn(text: string): Escape | "open" | undefined {
  const bytes = bytesOf(Number.parseInt(text.slice(1, 2), 16));
  if (text.length < 3 * bytes && openUrl.test(text)) return "open";
  const found = url.exec(text)?.[0].slice(0, 3 * bytes);
  if (found === undefined) return undefined;
  try {
    return { length: found.length, said: decodeURIComponent(found) };
  } catch {
    return undefined;
  }
}

/** By the first half of the first byte of a character in UTF-8. */
const bytesOf = (half: number): number => (half < 0xc || Number.isNaN(half) ? 1 : Math.max(2, half - 0xb));
