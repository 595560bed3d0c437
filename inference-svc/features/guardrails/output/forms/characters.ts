/** Converts characters of an answer to each form that rules scan, and caches the results. */
import { normalizeCharacters } from "../../../../content/signs/signs.ts";
import { letterSeparators } from "../../disguises/characters.ts";
import { markupStarts } from "../../disguises/markup.ts";
import { confusables } from "../../input/confusables.ts";

const gap = new RegExp(`^[${letterSeparators}]$`, "u");
const control = /^[^\t\n\r\x20-\x7e]$/;

/** Classes of UTF-16 units. Only a disguise or a single letter can make the scan wait for more text. */
export const unitKind = { disguise: 0, letter: 1, digit: 2, gap: 3, other: 4 } as const;
const asciiKinds = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/[%&]/.test(character) || control.test(character) || markupStarts.includes(character)) return unitKind.disguise;
  if (/[A-Za-z]/.test(character)) return unitKind.letter;
  if (/\d/.test(character)) return unitKind.digit;
  return gap.test(character) ? unitKind.gap : unitKind.other;
});

export const toUnitKind = (unit: number): number => (unit < 128 ? (asciiKinds[unit] as number) : unitKind.disguise);

/** Maximum invisible characters in a row within a word; it bounds how much text they can hold back. */
export const maxInvisibleCharacters = 16;

const letter = /^\p{L}$/u;
const wordStart = /^[\p{L}\p{N}\p{M}]/u;
const wordEnd = /[\p{L}\p{N}]$/u;

/** A character in normal form, and with look-alike letters replaced by Latin letters. */
export interface Character {
  readonly isInvisible: boolean;
  readonly normalized: string;
  readonly folded: string;
  readonly isLetter: boolean;
  readonly isGap: boolean;
  readonly continuesWord: boolean;
  readonly endsWord: boolean;
}

/** A piece of text in each form that rules scan. An unchanged form is the same string object as `raw`. */
export interface Deobfuscated {
  readonly raw: string;
  /** The text with escapes decoded, compatibility characters normalized and invisible characters removed. */
  readonly normalized: string;
  /** The normalized text with look-alike letters replaced by Latin letters and spelled-out words closed up. */
  readonly folded: string;
  /** The folded text with markup removed. */
  readonly unmarked: string;
  /** The raw text with tag characters (U+E0020 to U+E007E) decoded, and nothing else changed. */
  readonly tagsDecoded: string;
}

export const unchangedText = (text: string): Deobfuscated => ({
  raw: text,
  normalized: text,
  folded: text,
  unmarked: text,
  tagsDecoded: text,
});

export function readCharacter(normalized: string): Character {
  const folded = confusables.fold(normalized);
  return {
    isInvisible: normalized === "",
    normalized,
    folded,
    isLetter: letter.test(folded),
    isGap: gap.test(folded),
    continuesWord: wordStart.test(folded),
    endsWord: wordEnd.test(folded),
  };
}

/** Maximum number of cached characters, enough for several scripts. A full cache is emptied. */
const maxKnown = 8_192;
const knownCharacters = new Map<string, Character>();

export function characterOf(text: string): Character {
  const before = knownCharacters.get(text);
  if (before) return before;
  const character = readCharacter(normalizeCharacters(text));
  if (knownCharacters.size === maxKnown) knownCharacters.clear();
  knownCharacters.set(text, character);
  return character;
}
