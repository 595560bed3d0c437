/**
 * Finds and decodes rot13 in a text: a model can read it if it is instructed to decode it. Only the frequencies of
 * letters reveal rot13; a text too short for a frequency test is not decoded.
 */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { minEncodedLength } from "./encoded.ts";
import { type MappedPiece, mapUnchanged } from "./mapped-text.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Letter frequencies per thousand in English; those of other languages in Latin letters are close enough. */
const letterShares = [
  82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2, 20, 1,
];
/** Maximum gain of a letter, positive or negative: no single letter may decide. */
const maxGain = 2;
/** Gain by ASCII unit: the logarithm of how much likelier the letter is in rotated text than in plain text. */
const letterGains = new Float64Array(128);
for (const [letter, share] of letterShares.entries()) {
  const gain = Math.log((letterShares[(letter + 13) % 26] as number) / share);
  letterGains[0x41 + letter] = letterGains[0x61 + letter] = Math.max(-maxGain, Math.min(maxGain, gain));
}

/** Common English words, which are stronger evidence than their letters: none of them is another common word when rotated. */
const commonWords = new Set(
  "the of and to in is it you that he was for on are with as his they at have this from by not but what all we when your can there an do if will so no my me has see now".split(
    " ",
  ),
);
const rotatedCommonWords = new Set([...commonWords].map(rot13));
const gainOfCommon = 3;
const maxCommonLength = Math.max(...Array.from(commonWords, (word) => word.length));

/** Minimum gain of a span decoded. Rotated English gains 0.6 per letter, and plain English loses as much. */
const minGain = 6;
const minGainPerUnit = 0.25;
/** Maximum gain that a span may lose again before it ends: the letters of short words tell little. */
const maxLoss = 8;
/** Minimum gain at the edge of a cut text, where the rest cannot be seen. */
const minGainAtEdge = 2;

/** Marks the ASCII units of words, letters and digits, with 1. */
const wordUnits = Uint8Array.from({ length: 128 }, (_, unit) => Number(/[A-Za-z0-9]/.test(String.fromCharCode(unit))));
/** Maximum letters of a word; longer runs of letters are not words. */
const maxWordLength = 40;

/** Whether the piece was cut out of a longer text, at its start and at its end. */
export type CutEdges = readonly [before: boolean, after: boolean];

/** The text with the rotated spans decoded. @returns undefined when there are none */
export function decodeRot13(piece: string, at: number, edges: CutEdges): MappedPiece | undefined {
  let text = "";
  let done = 0;
  for (const { start, end } of findRotated(piece, edges)) {
    text += piece.slice(done, start) + rot13(piece.slice(start, end));
    done = end;
  }
  return done === 0 ? undefined : mapUnchanged(text + piece.slice(done), at);
}

function rot13(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => {
    const unit = unitAt(letter, 0);
    return String.fromCharCode((unit & 0x1f) > 13 ? unit - 13 : unit + 13);
  });
}

/** The words of a text, in one list for each field: an object per word would take longer than the search. */
class Words {
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly gains: number[] = [];

  constructor(text: string) {
    const { length } = text;
    for (let unit = 0; unit < length; unit++) {
      if (!isWordUnit(unitAt(text, unit))) continue;
      const start = unit;
      let gain = 0;
      for (let code = unitAt(text, unit); isWordUnit(code); code = unitAt(text, ++unit)) {
        gain += letterGains[code] as number;
      }
      this.starts.push(start);
      this.ends.push(unit);
      this.gains.push(gain + gainOfLength(text, start, unit));
    }
  }

  get count(): number {
    return this.starts.length;
  }
}

/** Whether a unit belongs to a word. NaN, which is read after the last unit, does not. */
const isWordUnit = (unit: number): boolean => unit < 128 && wordUnits[unit] === 1;

function gainOfLength(text: string, start: number, end: number): number {
  const length = end - start;
  if (length > maxWordLength) return Number.NEGATIVE_INFINITY;
  return length > maxCommonLength ? 0 : gainOfWord(text.slice(start, end).toLowerCase());
}

/** The spans of words with the highest gain in all, in order and without overlap. */
function findRotated(text: string, edges: CutEdges): readonly TextSpan[] {
  const all = new Words(text);
  const passages: TextSpan[] = [];
  let first = 0;
  let last = 0;
  let gain = 0;
  let best = 0;
  const close = () => {
    const span = best > 0 ? toRotatedSpan(all, { first, last, gain: best }, edges) : undefined;
    if (span) passages.push({ start: Math.max(span.start, passages.at(-1)?.end ?? 0), end: span.end });
    gain = best = 0;
  };
  for (let index = 0; index < all.count; index++) {
    if (best === 0) first = index;
    gain += all.gains[index] as number;
    if (gain > best) {
      best = gain;
      last = index;
    } else if (gain <= 0 || best - gain > maxLoss) close();
  }
  close();
  return passages;
}

const gainOfWord = (word: string): number =>
  commonWords.has(word) ? -gainOfCommon : rotatedCommonWords.has(word) ? gainOfCommon : 0;

interface Candidate {
  /** Index of the span's first word, and of its last. */
  readonly first: number;
  readonly last: number;
  readonly gain: number;
}

function toRotatedSpan(
  { starts, ends, count }: Words,
  { first, last, gain }: Candidate,
  [before, after]: CutEdges,
): TextSpan | undefined {
  const start = starts[first] as number;
  const end = ends[last] as number;
  const length = end - start;
  if (length >= minEncodedLength && gain >= Math.max(minGain, length * minGainPerUnit)) {
    // The words at both ends are decoded as well: they may be rotated without gaining by themselves.
    return { start: starts[first - 1] ?? start, end: ends[last + 1] ?? end };
  }
  const isAtEdge = (before && first === 0) || (after && last === count - 1);
  return isAtEdge && gain >= minGainAtEdge ? { start, end } : undefined;
}
