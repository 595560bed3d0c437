/**
 * Removes disguises a model can read through: escapes, compatibility characters, invisible characters, look-alike
 * letters, gaps between letters.
 */
import { normalizeCharacters } from "../../../content/signs/signs.ts";
import { letterSeparators, maxLetterGap, minSpelledLetters } from "../disguises/characters.ts";
import { readEscape, maxEscapeLength } from "../disguises/escapes.ts";
import { confusables } from "./confusables.ts";
import { type MappedPiece, MappedText } from "./mapped-text.ts";

/** Maximum combining marks per character that are normalized together: the time grows with the square of their number. */
const maxMarks = 32;
const overMarked = new RegExp(`\\p{M}{${maxMarks + 1}}`, "u");

/** Matches clusters normalized separately: plain letters, an escape sign, Hangul jamo, a character with its marks. */
const clusters = new RegExp(
  String.raw`[\t\n\r\x20-\x24\x27-\x5b\x5d-\x7e]+(?!\p{M})|[%&\\]|[\u1100-\u11ff]+|.\p{M}{0,${maxMarks}}`,
  "gsu",
);
const escaped = /%[0-9A-Fa-f]{2}|\\[xuU]|&[#A-Za-z]/;
const disguised = /[^\t\n\r\x20-\x7e]|%[0-9A-Fa-f]{2}|\\[xuU]|&[#A-Za-z]/;

/** The text in normal form, with escapes decoded and invisible characters removed. @returns undefined when nothing changes */
export function normalize(text: string, at: number): MappedPiece | undefined {
  if (!disguised.test(text)) return undefined;
  if (!escaped.test(text) && !overMarked.test(text) && normalizeCharacters(text) === text) return undefined;
  const made = new MappedText();
  clusters.lastIndex = 0;
  for (let found = clusters.exec(text); found; found = clusters.exec(text)) {
    const escape = /^[%&\\]/.test(found[0])
      ? readEscape(text.slice(found.index, found.index + maxEscapeLength), true)
      : undefined;
    if (escape === undefined || escape === "open") put(made, found[0], normalizeCharacters(found[0]), at + found.index);
    else {
      const end = (clusters.lastIndex = found.index + escape.length);
      made.put(normalizeCharacters(escape.decoded), { start: at + found.index, end: at + end });
    }
  }
  return made.text === text ? undefined : made;
}

function put(made: MappedText, was: string, is: string, at: number): void {
  if (is === was) made.copy(was, at);
  else made.put(is, { start: at, end: at + was.length });
}

/** Matches tag characters (U+E0020 to U+E007E): each stands for an ASCII character, and only machines see it. */
const tags = /[\u{e0020}-\u{e007e}]+/gu;

/** The ASCII character a tag character stands for; undefined for any other character. */
export function decodeTag(character: string): string | undefined {
  const point = character.codePointAt(0) as number;
  return point >= 0xe0020 && point <= 0xe007e ? String.fromCharCode(point - 0xe0000) : undefined;
}

/** The text with tag characters decoded. @returns undefined when there are none */
export function decodeTags(text: string, at: number): MappedPiece | undefined {
  const made = new MappedText();
  let from = 0;
  for (const { 0: run, index } of text.matchAll(tags)) {
    made.copy(text.slice(from, index), at + from);
    from = index;
    for (const tag of run) made.put(decodeTag(tag) as string, { start: at + from, end: at + (from += tag.length) });
  }
  if (from === 0) return undefined;
  made.copy(text.slice(from), at + from);
  return made;
}

const minRun = 2 * minSpelledLetters - 1;
const apart = String.raw`\p{L}(?![\p{L}\p{N}\p{M}])`;
const more = minSpelledLetters - 1;
/** Matches single letters with one separator after each, or with the same two or three. */
const spaced = new RegExp(
  String.raw`(?<![\p{L}\p{N}])\p{L}(?:(?:[${letterSeparators}]${apart}){${more},}|([${letterSeparators}]{2,${maxLetterGap}})${apart}(?:\1${apart}){${more - 1},})`,
  "gu",
);

/** The text with look-alike letters replaced by Latin letters and spelled-out words closed up. @returns undefined when nothing changes */
export function foldConfusables(before: MappedPiece): MappedPiece | undefined {
  const text = confusables.fold(before.text);
  const runs = text.length < minRun ? [] : [...text.matchAll(spaced)];
  if (runs.length === 0 && text === before.text) return undefined;
  const made = new MappedText();
  let at = 0;
  const copy = (end: number, step: number) => {
    for (; at < end; at += step) made.put(text[at] as string, before.sourceOf(at, at + 1));
    at = end;
  };
  for (const { 0: run, 1: gap = " ", index } of runs) {
    copy(index, 1);
    // A run with surrogate pairs stays as it is: the next separator is not at a fixed distance.
    copy(index + run.length, /[\ud800-\udfff]/.test(run) ? 1 : 1 + gap.length);
  }
  copy(text.length, 1);
  return made;
}
