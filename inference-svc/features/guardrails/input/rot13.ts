/**
 * Finds and decodes rot13 in a text: a model instructed to decode it can read it. Rotated letters are letters as well, and only their frequencies reveal
 * them; a text too short for a frequency test is not decoded.
 */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { minEncodedLength } from "./encoded.ts";
import { type MappedPiece, mapUnchanged } from "./mapped-text.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Letter frequencies per thousand in English; other languages in Latin letters are close enough. */
const letterShares = [
  82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2, 20, 1,
];
/** Limit of a letter's gain: no single letter may decide. */
const maxGain = 2;
/** Gain by ASCII unit: logarithm of how much likelier the letter is rotated than plain. */
const letterGains = new Float64Array(128);
for (const [letter, share] of letterShares.entries()) {
  const gain = Math.log((letterShares[(letter + 13) % 26] as number) / share);
  letterGains[0x41 + letter] = letterGains[0x61 + letter] = Math.max(-maxGain, Math.min(maxGain, gain));
}

/** Common words carry more evidence than their letters: none of them rotates into another. */
const commonWords = new Set(
  "the of and to in is it you that he was for on are with as his they at have this from by not but what all we when your can there an do if will so no my me has see now".split(
    " ",
  ),
);
const rotatedCommonWords = new Set([...commonWords].map(rot13));
const gainOfCommon = 3;
const maxCommonLength = Math.max(...Array.from(commonWords, (word) => word.length));

/** Minimum gain of a rotated span. Rotated English gains 0.6 per letter, and plain English loses as much. */
const minGain = 6;
const minGainPerUnit = 0.25;
/** Gain a span may lose before it ends: short words look much alike. */
const maxLoss = 8;
/** Minimum gain at the edge of a cut text, where the rest cannot be seen. */
const minGainAtEdge = 2;

/** 1 for each ASCII unit of a word: letters and digits. */
const wordUnits = Uint8Array.from({ length: 128 }, (_, unit) => Number(/[A-Za-z0-9]/.test(String.fromCharCode(unit))));
/** Longer runs of letters are not words. */
const maxWordLength = 40;

/** Whether the piece was cut from a longer text, before its start and after its end. */
export type CutEdges = readonly [before: boolean, after: boolean];

/** The text with rotated spans decoded; undefined when there are none. */
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

/** The words of a text in a list per field: an object per word took longer than the search. */
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

/** NaN, the unit after the last, is not a word unit. */
const isWordUnit = (unit: number): boolean => unit < 128 && wordUnits[unit] === 1;

function gainOfLength(text: string, start: number, end: number): number {
  const length = end - start;
  if (length > maxWordLength) return Number.NEGATIVE_INFINITY;
  return length > maxCommonLength ? 0 : gainOfWord(text.slice(start, end).toLowerCase());
}

/** The spans of words with the highest gain, in order and without overlap. */
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
  /** Indices of the span's first and last word. */
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
    // The words at both edges may be rotated without gaining by themselves.
    return { start: starts[first - 1] ?? start, end: ends[last + 1] ?? end };
  }
  const isAtEdge = (before && first === 0) || (after && last === count - 1);
  return isAtEdge && gain >= minGainAtEdge ? { start, end } : undefined;
}
