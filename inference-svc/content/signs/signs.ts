/**
 * Replaces characters by what people and models read in them: nothing, a Latin letter or digit, or the character
 * itself. One table of Unicode properties serves requests, answers, judges and alignment rules.
 *
 * The table is generated instead of using the regular expressions of the running Node: those have neither styles nor
 * digit values, and an older Node would miss letters a newer Node in the same installation recognizes.
 */
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";
import { runs } from "./gen/table.ts";

/** Kinds of characters in the table; every other kind is the ASCII code of a letter or digit. */
const asItIs = 0;
const unassigned = 2;

/** The kind of each code point; the array takes 1.1 MB. */
const kinds = new Uint8Array(0x110000);
let at = 0;
for (const run of runs.split(",")) {
  const [gap = 0, length = 0, first = 0, step = 0] = run.split(" ").map((part) => Number.parseInt(part, 36));
  at += gap;
  if (step === 0) kinds.fill(first, at, at + length);
  else for (let index = 0; index < length; index++) kinds[at + index] = first + index;
  at += length;
}

/** Whether a code point is a visible character. A Node with a newer Unicode version may know characters missing from the table. */
const isShown = (code: number): boolean =>
  !/^[\p{C}\p{Default_Ignorable_Code_Point}]$/u.test(String.fromCodePoint(code));

/**
 * The text in plain letters and digits, without invisible characters: controls except tabs and line breaks, formats,
 * private use, unassigned characters, lone surrogates, and combining lines and frames over letters. Unicode tag
 * characters count as invisible.
 */
export function toPlainCharacters(text: string): string {
  const { length } = text;
  let plain = "";
  let from = 0;
  for (let place = 0; place < length; place++) {
    const start = place;
    let code = unitAt(text, place);
    if (code >= 0xd800 && code <= 0xdbff) code = text.codePointAt(place) as number;
    if (code > 0xffff) place++;
    const kind = kinds[code] as number;
    if (kind === asItIs || (kind === unassigned && isShown(code))) continue;
    plain += text.slice(from, start);
    if (kind > unassigned) plain += String.fromCharCode(kind);
    from = place + 1;
  }
  return from === 0 ? text : plain + text.slice(from);
}

/** The text in plain letters and digits after NFKC: full-width characters, ligatures and styled letters become plain letters. */
export const normalizeCharacters = (text: string): string => toPlainCharacters(text).normalize("NFKC");
