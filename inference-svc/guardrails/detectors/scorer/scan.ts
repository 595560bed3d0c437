/** Scores a text in windows of words as it comes. What is found does not depend on how it is cut. */
import type { Finder, Found, Scan, Span } from "@sluice/proto/runtime/pattern/finder.js";
import { type Word, wordsOf } from "./features.ts";
import { type Model, logOddsOf } from "./model.ts";

/** Longer than most sentences, shorter than most texts around an attempt. */
const windowWords = 40;
/** Every word but the first and last ones is in two windows. */
const strideWords = 20;
/** Of what stands between two spaces; no sentence is longer, and what is encoded says nothing here. */
const longestRun = 2_000;

const space = /\s/g;

class ScorerScan implements Scan {
  readonly #model: Model;
  readonly #threshold: number;
  /** Words of the window under way. */
  #words: Word[] = [];
  /** How many of them no window has been scored with. */
  #unscored = 0;
  /** Of the windows that reached the threshold, as long as the next may be one, too. */
  #open: Span | undefined;
  /** What has come since the last space, and where it begins. */
  #run = "";
  #runStart = 0;
  #length = 0;

  constructor(model: Model, threshold: number) {
    this.#model = model;
    this.#threshold = threshold;
  }

  push(piece: string): Found {
    const spans: Span[] = [];
    let start = 0;
    for (const { index } of piece.matchAll(space)) {
      this.#extend(piece.slice(start, index));
      this.#read(spans);
      start = index + 1;
      this.#runStart = this.#length + start;
    }
    this.#extend(piece.slice(start));
    this.#length += piece.length;
    const held = this.#open ?? this.#words[0];
    return { spans, decided: held?.start ?? this.#runStart };
  }

  end(): Found {
    const spans: Span[] = [];
    this.#read(spans);
    if (this.#unscored > 0) this.#score(spans);
    if (this.#open) spans.push(this.#open);
    return { spans, decided: this.#length };
  }

  #extend(text: string): void {
    this.#run += text.slice(0, longestRun - this.#run.length);
  }

  /** Takes the words of the run that has ended. */
  #read(spans: Span[]): void {
    for (const word of wordsOf(this.#run, this.#runStart)) {
      this.#words.push(word);
      this.#unscored++;
      if (this.#words.length === windowWords) this.#score(spans);
    }
    this.#run = "";
  }

  #score(spans: Span[]): void {
    const [first, last] = [this.#words[0] as Word, this.#words.at(-1) as Word];
    if (logOddsOf(this.#model, this.#words) >= this.#threshold) {
      this.#open = { start: this.#open?.start ?? first.start, end: last.end };
    } else if (this.#open) {
      spans.push(this.#open);
      this.#open = undefined;
    }
    this.#words = this.#words.slice(strideWords);
    this.#unscored = 0;
  }
}

/** Finds the windows that reach a threshold, given as log odds. */
export const scorerOf = (model: Model, threshold: number): Finder => ({
  open: () => new ScorerScan(model, threshold),
  pieceLength: 16_384,
});

/** The log odds of the window of a text that reads most like an attempt. */
export function highestOf(model: Model, text: string): number {
  const words = [...wordsOf(text)];
  let highest = Number.NEGATIVE_INFINITY;
  for (let start = 0; start === 0 || start + windowWords - strideWords < words.length; start += strideWords) {
    highest = Math.max(highest, logOddsOf(model, words.slice(start, start + windowWords)));
  }
  return highest;
}
