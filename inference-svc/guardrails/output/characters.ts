/** One character of an answer, and what it is in each form in which the answer is read. */
import { gapSigns, unseenCharacter } from "../disguises/characters.ts";
import { markupSigns } from "../disguises/markup.ts";
import { lookalikes } from "../input/lookalikes.ts";

const gap = new RegExp(`^[${gapSigns}]$`);

/** Kinds of units behind which nothing waits. */
export const kind = { disguise: 0, letter: 1, digit: 2, gap: 3, other: 4 } as const;
const kinds = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/[%&]/.test(character) || markupSigns.includes(character)) return kind.disguise;
  if (/[A-Za-z]/.test(character)) return kind.letter;
  if (/\d/.test(character)) return kind.digit;
  return gap.test(character) ? kind.gap : kind.other;
});

export const kindOf = (unit: number): number => (unit < 128 ? (kinds[unit] as number) : kind.disguise);

/** More of them in a row end a word, so that little is held for them. */
export const maxUnseen = 16;

const letter = /^\p{L}$/u;
const goesOnAsWord = /^[\p{L}\p{N}\p{M}]/u;
const endsAsWord = /[\p{L}\p{N}]$/u;

/** The plain form of a character, and the letters that it resembles. */
export interface Character {
  readonly isUnseen: boolean;
  readonly plain: string;
  readonly squeezed: string;
  readonly isLetter: boolean;
  readonly isGap: boolean;
  readonly goesOnAsWord: boolean;
  readonly endsAsWord: boolean;
}

export function readCharacter(said: string, plain: string): Character {
  const squeezed = lookalikes.in(plain);
  return {
    isUnseen: unseenCharacter.test(said),
    plain,
    squeezed,
    isLetter: letter.test(squeezed),
    isGap: gap.test(squeezed),
    goesOnAsWord: goesOnAsWord.test(squeezed),
    endsAsWord: endsAsWord.test(squeezed),
  };
}

/** Characters of some scripts; all are forgotten when there are more. */
const maxKnown = 8_192;
const known = new Map<string, Character>();

export function characterOf(said: string): Character {
  const before = known.get(said);
  if (before) return before;
  const character = readCharacter(said, unseenCharacter.test(said) ? "" : said.normalize("NFKC"));
  if (known.size === maxKnown) known.clear();
  known.set(said, character);
  return character;
}
