/**
 * Passages in which every letter stands for the one thirteen places on (rot13): a model that is told to will read them. Turned letters are letters
 * too, so that nothing but how often each is used tells; what is too short for that is not looked at.
 */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import { shortestEncoded } from "./encoded.ts";
import { type Mapped, asItIs } from "./mapped.ts";

/** Of a thousand letters of English, by letter; other languages in Latin letters are near enough. */
const shares = [82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2, 20, 1];
/** No single letter decides. */
const mostGain = 2;
/** By unit below 128, how much it speaks for a turned letter: the logarithm of how many times more likely that is. */
const gains = new Float64Array(128);
for (const [letter, share] of shares.entries()) {
  const gain = Math.log((shares[(letter + 13) % 26] as number) / share);
  gains[0x41 + letter] = gains[0x61 + letter] = Math.max(-mostGain, Math.min(mostGain, gain));
}

/** Words that say more than their letters: no turned one of them is another. */
const common = new Set(
  "the of and to in is it you that he was for on are with as his they at have this from by not but what all we when your can there an do if will so no my me has see now".split(
    " ",
  ),
);
const turnedCommon = new Set([...common].map(turned));
const gainOfCommon = 3;

/** What a passage gains at least: English gains 0.6 a letter when it is turned, and loses as much when it is not. */
const leastGain = 6;
const leastGainPerUnit = 0.25;
/** What it may lose and still go on: of short words many look alike. */
const mostLoss = 8;
/** At the edge of a stretch that was cut out of a text, where no more of it is seen. */
const leastGainAtEdge = 2;

const words = /[A-Za-z0-9]+/g;
/** Longer ones are none. */
const longestWord = 40;

interface Word extends Span {
  readonly gain: number;
}

/** Whether a stretch begins, and ends, where its text goes on. */
export type Torn = readonly [before: boolean, after: boolean];

/** With its passages turned back; undefined when there are none. */
export function rotated(stretch: string, at: number, torn: Torn): Mapped | undefined {
  let text = "";
  let done = 0;
  for (const { start, end } of passagesOf(stretch, torn)) {
    text += stretch.slice(done, start) + turned(stretch.slice(start, end));
    done = end;
  }
  return done === 0 ? undefined : asItIs(text + stretch.slice(done), at);
}

function turned(text: string): string {
  return text.replace(/[A-Za-z]/g, (letter) => {
    const unit = letter.charCodeAt(0);
    return String.fromCharCode((unit & 0x1f) > 13 ? unit - 13 : unit + 13);
  });
}

/** From left to right, none within another: stretches of words that gain the most. */
function passagesOf(text: string, torn: Torn): readonly Span[] {
  const all = Array.from(text.matchAll(words), ({ 0: word, index }) => wordAt(word, index));
  const passages: Span[] = [];
  let first = 0;
  let last = 0;
  let gain = 0;
  let best = 0;
  const close = () => {
    const span = best > 0 ? passageOf(all, { first, last, gain: best }, torn) : undefined;
    if (span) passages.push({ start: Math.max(span.start, passages.at(-1)?.end ?? 0), end: span.end });
    gain = best = 0;
  };
  for (const [index, word] of all.entries()) {
    if (best === 0) first = index;
    gain += word.gain;
    if (gain > best) {
      best = gain;
      last = index;
    } else if (gain <= 0 || best - gain > mostLoss) close();
  }
  close();
  return passages;
}

function wordAt(word: string, start: number): Word {
  let gain = word.length > longestWord ? Number.NEGATIVE_INFINITY : gainOf(word.toLowerCase());
  for (let unit = 0; unit < word.length; unit++) gain += gains[word.charCodeAt(unit)] as number;
  return { start, end: start + word.length, gain };
}

const gainOf = (word: string): number => (common.has(word) ? -gainOfCommon : turnedCommon.has(word) ? gainOfCommon : 0);

interface Candidate {
  /** Indices of words. */
  readonly first: number;
  readonly last: number;
  readonly gain: number;
}

function passageOf(all: readonly Word[], { first, last, gain }: Candidate, [before, after]: Torn): Span | undefined {
  const { start } = all[first] as Word;
  const { end } = all[last] as Word;
  const length = end - start;
  if (length >= shortestEncoded && gain >= Math.max(leastGain, length * leastGainPerUnit)) {
    // A word at its end may gain nothing by itself.
    return { start: all[first - 1]?.start ?? start, end: all[last + 1]?.end ?? end };
  }
  const isAtEdge = (before && first === 0) || (after && last === all.length - 1);
  return isAtEdge && gain >= leastGainAtEdge ? { start, end } : undefined;
}
