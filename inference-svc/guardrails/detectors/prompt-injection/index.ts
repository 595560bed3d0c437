/** Attempts to take a model out of its instructions, by their wording. They are precise about known wordings, and blind for others. */
import { type Window, finderOf } from "../candidates.ts";
import type { Detector } from "../detector.ts";
import { asciiLetters, including, letters, units, wordUnits } from "../units.ts";
import { keyOf } from "./word-key.ts";
import { type Place, byFirstWord, markers } from "./wordings.ts";

const inWord = including(wordUnits, "'’@$");
/** What may stand between two words of one sentence. */
const between = units(" ,;:-*_\"'`()\n\r\t\u00a0\u2013\u2014\u2018\u2019\u201c\u201d");
const apostrophes = units("'’");
const longestBetween = 4;
const longestWord = 24;

interface Word {
  readonly key: string;
  readonly end: number;
}

function wordAt(text: Window, start: number): Word | undefined {
  const end = text.run(start, inWord, longestWord + 1);
  if (end === start || end - start > longestWord) return undefined;
  return { key: keyOf(text.slice(start, end).replace(/['’]s?$/, "")), end };
}

/** First letters and lengths of first words: nearly every word of a text is left by them, before its letters are sorted. */
const beginnings = new Set([...byFirstWord.keys()].map((key) => key.charCodeAt(0) * longestWord + key.length));

function mayBegin(text: Window, start: number): boolean {
  const first = text.at(start);
  if (asciiLetters[first] !== 1) return true;
  let end = text.run(start, inWord, longestWord + 1);
  if (apostrophes[text.at(end - 2)] === 1) end -= 2;
  // Capitals and small letters are 32 apart.
  return beginnings.has((first | 0x20) * longestWord + end - start);
}

/** The words of a sentence from a place on, read as far as somebody asks. */
class Sentence {
  readonly #text: Window;
  readonly #words: Word[] = [];
  #place: number;

  constructor(text: Window, place: number) {
    this.#text = text;
    this.#place = place;
  }

  word(index: number): Word | undefined {
    while (this.#words.length <= index) {
      const start = this.#text.run(this.#place, between, longestBetween);
      const word = start === this.#place ? undefined : wordAt(this.#text, start);
      if (word === undefined) return undefined;
      this.#words.push(word);
      this.#place = word.end;
    }
    return this.#words[index];
  }
}

/** Where the last of the places is taken, trying each from the nearest word that fits. */
function endOf(sentence: Sentence, places: readonly Place[], from: number): number | undefined {
  const [place, ...rest] = places;
  if (place === undefined) return sentence.word(from - 1)?.end;
  for (let index = from; index <= from + place.gap; index++) {
    const word = sentence.word(index);
    if (word === undefined) return undefined;
    if (!place.words.has(word.key)) continue;
    const end = rest.length === 0 ? word.end : endOf(sentence, rest, index + 1);
    if (end !== undefined) return end;
  }
  return undefined;
}

function match(text: Window, start: number): number | undefined {
  if (letters[text.at(start)] !== 1 && wordUnits[text.at(start)] !== 1) {
    const marker = markers.find((marker) => text.says(start, marker));
    return marker === undefined ? undefined : start + marker.length;
  }
  const first = mayBegin(text, start) ? wordAt(text, start) : undefined;
  const wordings = first && byFirstWord.get(first.key);
  if (first === undefined || wordings === undefined) return undefined;
  const sentence = new Sentence(text, first.end);
  let longest: number | undefined;
  for (const places of wordings) {
    const end = endOf(sentence, places, 0);
    if (end !== undefined && end > (longest ?? 0)) longest = end;
  }
  return longest;
}

export const promptInjection: Detector = {
  slug: "regex-prompt-injection",
  engine: "pattern",
  finder: finderOf({ behind: 1, ahead: 480, first: including(wordUnits, "<[#"), notAfter: wordUnits, match }),
};
