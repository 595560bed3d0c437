/** Reads words and house numbers of addresses. */
import type { CandidateWindow } from "../candidates.ts";
import { digits, extendSet, letters, unitSet } from "../unit-sets.ts";

export const space = 0x20;
export const comma = 0x2c;
const inWord = extendSet(letters, "'’.-");
export const numberUnits = unitSet("0-9", "a-z", "A-Z", "-/");
const maxWord = 32;

export interface AddressWord {
  readonly text: string;
  readonly end: number;
}

export const readWord = (text: CandidateWindow, start: number): AddressWord => {
  const end = text.run(start, inWord, maxWord);
  return { text: text.slice(start, end), end };
};

export const readNumber = (text: CandidateWindow, start: number): AddressWord => {
  const end = digits[text.at(start)] === 1 ? text.run(start, numberUnits, 9) : start;
  return { text: text.slice(start, end), end };
};

export const isHouseNumber = (number: string): boolean => /^\d{1,5}(?:[a-z]|[-/]\d{1,4}[a-z]?|\s?bis)?$/i.test(number);
export const isCapitalized = (word: string): boolean => /^\p{Lu}/u.test(word);

/** The word in lower case, without the dot of an abbreviation. */
export const normalizeWord = (word: string): string => word.replace(/\.$/, "").toLowerCase();
