/** Finds and decodes base64 and hexadecimal words within a text: a model can read them if it is instructed to decode them. */
import { stripMarkup } from "./strip-markup.ts";
import { type MappedPiece, mapUnchanged, mapToWholeSource } from "./mapped-text.ts";
import { normalize, foldConfusables } from "./normalize.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Minimum UTF-16 units of an encoded word: shorter words carry too little, and ordinary words can be as long. */
export const minEncodedLength = 16;
/** Maximum UTF-16 units of a word that are decoded; in base64 they carry 64 KiB of text. */
export const maxEncodedLength = 87_384;
/** Maximum levels of decoding: a text may be encoded twice. */
const maxLevels = 2;
/** Minimum share of printable characters in a decoded word; other bytes are not text. */
const minPrintableShare = 0.85;

const encodedWord = new RegExp(`[A-Za-z0-9+/_-]{${minEncodedLength},}={0,2}`, "g");
const hexadecimal = /^(?:0[xX])?(?:[0-9A-Fa-f]{2})+$/;

/** Matches the next line of an encoded word that fills the line before. */
const nextLine = /\r?\n([A-Za-z0-9+/_-]+={0,2})/y;

/** Decodes the encoded words of a text; each result is mapped to the whole word. */
export function* decodeWordsIn(text: string, at: number, level = 1): Iterable<MappedPiece> {
  if (text.length < minEncodedLength) return;
  for (const { word, index, length } of findWords(text)) {
    const decoded = decodeWord(word.slice(0, maxEncodedLength));
    if (decoded === undefined) continue;
    const source = { start: at + index, end: at + index + length };
    for (const form of buildForms(decoded, level)) yield mapToWholeSource(`${form}\n`, source);
  }
}

interface Word {
  readonly word: string;
  readonly index: number;
  /** Length of the word in the source text, line breaks included. */
  readonly length: number;
}

/** Finds every word, and words on consecutive lines of equal length as one word. */
function* findWords(text: string): Iterable<Word> {
  let over = 0;
  for (const { 0: word, index } of text.matchAll(encodedWord)) {
    yield { word, index, length: word.length };
    if (index < over) continue;
    const lines = [word];
    nextLine.lastIndex = index + word.length;
    while (lines.at(-1)?.length === word.length) {
      const line = nextLine.exec(text)?.[1];
      if (line === undefined || line.length > word.length) break;
      lines.push(line);
      over = nextLine.lastIndex;
    }
    if (lines.length > 1) yield { word: lines.join(""), index, length: over - index };
  }
}

function* buildForms(text: string, level: number): Iterable<string> {
  yield text;
  const normalized = normalize(text, 0);
  if (normalized) yield normalized.text;
  const folded = foldConfusables(normalized ?? mapUnchanged(text, 0));
  if (folded) yield folded.text;
  const unmarked = stripMarkup(text, 0);
  if (unmarked) yield unmarked.text;
  if (level < maxLevels) for (const inner of decodeWordsIn(text, 0, level + 1)) yield inner.text;
}

function decodeWord(word: string): string | undefined {
  return (
    (hexadecimal.test(word) && toReadableText(Buffer.from(word.replace(/^0[xX]/, ""), "hex"))) ||
    toReadableText(Buffer.from(word, "base64"))
  );
}

function toReadableText(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  const { length } = text;
  let others = Math.floor(length * (1 - minPrintableShare));
  for (let unit = 0; unit < length; unit++) {
    if (isUnprintable(unitAt(text, unit)) && others-- === 0) return undefined;
  }
  return text;
}

/** Whether a unit is a control character other than tab and line breaks, or U+FFFD, the replacement for bytes outside UTF-8. */
const isUnprintable = (unit: number): boolean =>
  (unit < 0x20 && unit !== 0x09 && unit !== 0x0a && unit !== 0x0d) || (unit >= 0x7f && unit < 0xa0) || unit === 0xfffd;
