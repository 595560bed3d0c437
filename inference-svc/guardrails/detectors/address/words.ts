/** What addresses are written with: words and house numbers. */
import type { Window } from "../candidates.ts";
import { digits, including, letters, units } from "../units.ts";

export const space = 0x20;
export const comma = 0x2c;
const inWord = including(letters, "'’.-");
export const inNumber = units("0-9", "a-z", "A-Z", "-/");
const longestWord = 32;

export interface Word {
  readonly text: string;
  readonly end: number;
}

export const wordAt = (text: Window, start: number): Word => {
  const end = text.run(start, inWord, longestWord);
  return { text: text.slice(start, end), end };
};

export const numberAt = (text: Window, start: number): Word => {
  const end = digits[text.at(start)] === 1 ? text.run(start, inNumber, 9) : start;
  return { text: text.slice(start, end), end };
};

export const isHouse = (number: string): boolean => /^\d{1,5}(?:[a-z]|[-/]\d{1,4}[a-z]?|\s?bis)?$/i.test(number);
export const isName = (word: string): boolean => /^\p{Lu}/u.test(word);

/** Without the dot of an abbreviation. */
export const bare = (word: string): string => word.replace(/\.$/, "").toLowerCase();
