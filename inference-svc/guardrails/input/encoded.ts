/** Texts in base64 or hexadecimal digits within a text: a model that is told to will read them. */
import { joined } from "./joined.ts";
import { type Mapped, asItIs, asWhole } from "./mapped.ts";
import { plain, squeezed } from "./normal.ts";

/** Of a word that may be an encoded one: shorter ones say too little, and words of any language are as long. */
export const shortestEncoded = 16;
/** UTF-16 units of which no more is decoded: 64 KiB of text in base64. */
export const longestEncoded = 87_384;
/** An encoded text that was encoded again is read, too. */
const depth = 2;
/** Of all characters: other bytes are no text. */
const leastPrintable = 0.85;

const words = new RegExp(`[A-Za-z0-9+/_-]{${shortestEncoded},}={0,2}`, "g");
const hexadecimal = /^(?:0[xX])?(?:[0-9A-Fa-f]{2})+$/;

/** Behind a line that is full. */
const nextLine = /\r?\n([A-Za-z0-9+/_-]+={0,2})/y;

/** The texts in it, each of which stands for the whole word in which it was encoded. */
export function* encodedIn(text: string, at: number, level = 1): Iterable<Mapped> {
  if (text.length < shortestEncoded) return;
  for (const { word, index, length } of wordsIn(text)) {
    const said = decoded(word.slice(0, longestEncoded));
    if (said === undefined) continue;
    const source = { start: at + index, end: at + index + length };
    for (const form of formsOf(said, level)) yield asWhole(`${form}\n`, source);
  }
}

interface Word {
  readonly word: string;
  readonly index: number;
  /** In the text, line breaks included. */
  readonly length: number;
}

/** Each by itself, and those that go on over lines of one length as one. */
function* wordsIn(text: string): Iterable<Word> {
  let over = 0;
  for (const { 0: word, index } of text.matchAll(words)) {
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

function* formsOf(text: string, level: number): Iterable<string> {
  yield text;
  const undisguised = plain(text, 0);
  if (undisguised) yield undisguised.text;
  const together = squeezed(undisguised ?? asItIs(text, 0));
  if (together) yield together.text;
  const shown = joined(text, 0);
  if (shown) yield shown.text;
  if (level < depth) for (const inner of encodedIn(text, 0, level + 1)) yield inner.text;
}

function decoded(word: string): string | undefined {
  return (
    (hexadecimal.test(word) && readable(Buffer.from(word.replace(/^0[xX]/, ""), "hex"))) ||
    readable(Buffer.from(word, "base64"))
  );
}

function readable(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  let others = Math.floor(text.length * (1 - leastPrintable));
  for (let unit = 0; unit < text.length; unit++) {
    if (isUnprintable(text.charCodeAt(unit)) && others-- === 0) return undefined;
  }
  return text;
}

/** Control characters but for those that lines and columns are made with, and what stands for bytes that are no UTF-8. */
const isUnprintable = (unit: number): boolean =>
  (unit < 0x20 && unit !== 0x09 && unit !== 0x0a && unit !== 0x0d) || (unit >= 0x7f && unit < 0xa0) || unit === 0xfffd;
