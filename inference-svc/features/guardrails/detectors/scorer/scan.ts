/** Scores streamed text in windows of words. The findings do not depend on how the text is divided into deltas. */
import type { Finder, Found, Scan, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { type ScorerWord, splitWords } from "./features.ts";
import { type ScorerModel, computeLogOdds } from "./model.ts";

/** Words per window: more than most sentences, fewer than most texts around an injection. */
const windowWords = 40;
/** Words from one window's start to the next: nearly every word is in two windows. */
const strideWords = 20;
/** Maximum UTF-16 units read without white space; a longer run is not prose. */
const maxRun = 2_000;

const space = /\s/g;

class ScorerScan implements Scan {
  readonly #model: ScorerModel;
  readonly #threshold: number;
  /** Words of the current window. */
  #words: ScorerWord[] = [];
  /** Number of words in the current window that no scored window contains yet. */
  #unscored = 0;
  /** Span of consecutive windows above the threshold, as long as the next window may extend it. */
  #openSpan: TextSpan | undefined;
  /** Text since the last white space; `#runStart` is its place. */
  #run = "";
  #runStart = 0;
  #length = 0;

  constructor(model: ScorerModel, threshold: number) {
    this.#model = model;
    this.#threshold = threshold;
  }

  push(piece: string): Found {
    const spans: TextSpan[] = [];
    let start = 0;
    for (const { index } of piece.matchAll(space)) {
      this.#extend(piece.slice(start, index));
      this.#read(spans);
      start = index + 1;
      this.#runStart = this.#length + start;
    }
    this.#extend(piece.slice(start));
    this.#length += piece.length;
    const held = this.#openSpan ?? this.#words[0];
    return { spans, decided: held?.start ?? this.#runStart };
  }

  end(): Found {
    const spans: TextSpan[] = [];
    this.#read(spans);
    if (this.#unscored > 0) this.#score(spans);
    if (this.#openSpan) spans.push(this.#openSpan);
    return { spans, decided: this.#length };
  }

  #extend(text: string): void {
    this.#run += text.slice(0, maxRun - this.#run.length);
  }

  /** Adds the words of the run of text that has just ended. */
  #read(spans: TextSpan[]): void {
    for (const word of splitWords(this.#run, this.#runStart)) {
      this.#words.push(word);
      this.#unscored++;
      if (this.#words.length === windowWords) this.#score(spans);
    }
    this.#run = "";
  }

  #score(spans: TextSpan[]): void {
    const [first, last] = [this.#words[0] as ScorerWord, this.#words.at(-1) as ScorerWord];
    if (computeLogOdds(this.#model, this.#words) >= this.#threshold) {
      this.#openSpan = { start: this.#openSpan?.start ?? first.start, end: last.end };
    } else if (this.#openSpan) {
      spans.push(this.#openSpan);
      this.#openSpan = undefined;
    }
    this.#words = this.#words.slice(strideWords);
    this.#unscored = 0;
  }
}

/** A finder for windows whose log odds reach the threshold. */
export const buildScorer = (model: ScorerModel, threshold: number): Finder => ({
  open: () => new ScorerScan(model, threshold),
  pieceLength: 16_384,
});

/** The highest log odds of any window of the text. */
export function findMaxLogOdds(model: ScorerModel, text: string): number {
  const words = [...splitWords(text)];
  let highest = Number.NEGATIVE_INFINITY;
  for (let start = 0; start === 0 || start + windowWords - strideWords < words.length; start += strideWords) {
    highest = Math.max(highest, computeLogOdds(model, words.slice(start, start + windowWords)));
  }
  return highest;
}
