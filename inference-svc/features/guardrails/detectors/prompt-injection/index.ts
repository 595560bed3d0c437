/** Detects prompt injection by known wordings: with few false alarms, but blind to any other wording. */
import { type CandidateWindow, buildFinder } from "../candidates.ts";
import type { BuiltinDetector } from "../detector.ts";
import { asciiLetters, extendSet, letters, unitSet, wordUnits } from "../unit-sets.ts";
import { buildWordKey } from "./word-key.ts";
import { type WordSlot, wordingsByFirstWord, templateMarkers } from "./wordings.ts";

const inWord = extendSet(wordUnits, "'’@$");
/** UTF-16 units allowed between two words of a sentence. */
const between = unitSet(" ,;:-*_\"'`()\n\r\t\u00a0\u2013\u2014\u2018\u2019\u201c\u201d");
const apostrophes = unitSet("'’");
const maxBetween = 4;
const maxWord = 24;

interface Word {
  readonly key: string;
  readonly end: number;
}

function wordAt(text: CandidateWindow, start: number): Word | undefined {
  const end = text.run(start, inWord, maxWord + 1);
  if (end === start || end - start > maxWord) return undefined;
  return { key: buildWordKey(text.slice(start, end).replace(/['’]s?$/, "")), end };
}

/** First letters and lengths of the first words of all wordings. Nearly every word fails this cheap test before its key is built. */
const beginnings = new Set([...wordingsByFirstWord.keys()].map((key) => key.charCodeAt(0) * maxWord + key.length));

function mayStartWording(text: CandidateWindow, start: number): boolean {
  const first = text.at(start);
  if (asciiLetters[first] !== 1) return true;
  let end = text.run(start, inWord, maxWord + 1);
  if (apostrophes[text.at(end - 2)] === 1) end -= 2;
  // ASCII capitals and small letters are 32 apart.
  return beginnings.has((first | 0x20) * maxWord + end - start);
}

/** The words of a sentence, read lazily. */
class Sentence {
  readonly #text: CandidateWindow;
  readonly #words: Word[] = [];
  #place: number;

  constructor(text: CandidateWindow, place: number) {
    this.#text = text;
    this.#place = place;
  }

  word(index: number): Word | undefined {
    while (this.#words.length <= index) {
      const start = this.#text.run(this.#place, between, maxBetween);
      const word = start === this.#place ? undefined : wordAt(this.#text, start);
      if (word === undefined) return undefined;
      this.#words.push(word);
      this.#place = word.end;
    }
    return this.#words[index];
  }
}

/** Finds the remaining words of a wording; each slot takes the nearest word that fits. @returns the end of the last word, or undefined */
function findEnd(sentence: Sentence, places: readonly WordSlot[], from: number): number | undefined {
  const [place, ...rest] = places;
  if (place === undefined) return sentence.word(from - 1)?.end;
  for (let index = from; index <= from + place.gap; index++) {
    const word = sentence.word(index);
    if (word === undefined) return undefined;
    if (!place.words.has(word.key)) continue;
    const end = rest.length === 0 ? word.end : findEnd(sentence, rest, index + 1);
    if (end !== undefined) return end;
  }
  return undefined;
}

function match(text: CandidateWindow, start: number): number | undefined {
  if (letters[text.at(start)] !== 1 && wordUnits[text.at(start)] !== 1) {
    const marker = templateMarkers.find((marker) => text.startsWith(start, marker));
    return marker === undefined ? undefined : start + marker.length;
  }
  const first = mayStartWording(text, start) ? wordAt(text, start) : undefined;
  const wordings = first && wordingsByFirstWord.get(first.key);
  if (first === undefined || wordings === undefined) return undefined;
  const sentence = new Sentence(text, first.end);
  let longest: number | undefined;
  for (const places of wordings) {
    const end = findEnd(sentence, places, 0);
    if (end !== undefined && end > (longest ?? 0)) longest = end;
  }
  return longest;
}

export const promptInjection: BuiltinDetector = {
  slug: "regex-prompt-injection",
  engine: "pattern",
  finder: buildFinder({ behind: 1, ahead: 480, first: extendSet(wordUnits, "<[#"), notAfter: wordUnits, match }),
};
