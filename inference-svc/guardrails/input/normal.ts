/** Disguises that a model reads through: escapes, other forms of letters, characters that nobody sees, letters of other scripts, gaps. */
import { gapSigns, maxGap, minSpelled, withoutForm } from "../disguises/characters.ts";
import { escapeIn, maxEscape } from "../disguises/escapes.ts";
import { lookalikes } from "./lookalikes.ts";
import { type Mapped, MappedText } from "./mapped.ts";

/** Marks on one character that are put in order with it: that takes time which grows with their square. */
const mostMarks = 32;
const overMarked = new RegExp(`\\p{M}{${mostMarks + 1}}`, "u");

/** Units that are normalised by themselves: plain letters, the sign of an escape, letters that make up a syllable, a character with its marks. */
const clusters = new RegExp(
  String.raw`[\0-\x24\x27-\x5b\x5d-\x7f]+(?!\p{M})|[%&\\]|[\u1100-\u11ff]+|.\p{M}{0,${mostMarks}}`,
  "gsu",
);
const escaped = /%[0-9A-Fa-f]{2}|\\[xuU]|&[#A-Za-z]/;
const disguised = /[^\0-\x7f]|%[0-9A-Fa-f]{2}|\\[xuU]|&[#A-Za-z]/;

/** Undisguised, but for gaps and letters of other scripts; undefined when it is that already. */
export function plain(text: string, at: number): Mapped | undefined {
  if (!disguised.test(text)) return undefined;
  if (!escaped.test(text) && !overMarked.test(text) && withoutForm(text) === text) return undefined;
  const made = new MappedText();
  clusters.lastIndex = 0;
  for (let found = clusters.exec(text); found; found = clusters.exec(text)) {
    const escape = /^[%&\\]/.test(found[0])
      ? escapeIn(text.slice(found.index, found.index + maxEscape), true)
      : undefined;
    if (escape === undefined || escape === "open") put(made, found[0], withoutForm(found[0]), at + found.index);
    else {
      const end = (clusters.lastIndex = found.index + escape.length);
      made.put(withoutForm(escape.said), { start: at + found.index, end: at + end });
    }
  }
  return made.text === text ? undefined : made;
}

function put(made: MappedText, was: string, is: string, at: number): void {
  if (is === was) made.copy(was, at);
  else made.put(is, { start: at, end: at + was.length });
}

/** Letters that only machines read (tags): each stands for one of ASCII. */
const tags = /[\u{e0020}-\u{e007e}]+/gu;

/** The letter that a tag stands for; undefined for what is none. */
export function tagged(character: string): string | undefined {
  const point = character.codePointAt(0) as number;
  return point >= 0xe0020 && point <= 0xe007e ? String.fromCharCode(point - 0xe0000) : undefined;
}

/** With tags as the letters that they stand for; undefined when there are none. */
export function revealed(text: string, at: number): Mapped | undefined {
  const made = new MappedText();
  let from = 0;
  for (const { 0: run, index } of text.matchAll(tags)) {
    made.copy(text.slice(from, index), at + from);
    from = index;
    for (const tag of run) made.put(tagged(tag) as string, { start: at + from, end: at + (from += tag.length) });
  }
  if (from === 0) return undefined;
  made.copy(text.slice(from), at + from);
  return made;
}

const shortestRun = 2 * minSpelled - 1;
const apart = String.raw`\p{L}(?![\p{L}\p{N}\p{M}])`;
const more = minSpelled - 1;
/** Letters that are each followed by one sign that is none, or each by the same few. */
const spaced = new RegExp(
  String.raw`(?<![\p{L}\p{N}])\p{L}(?:(?:[${gapSigns}]${apart}){${more},}|([${gapSigns}]{2,${maxGap}})${apart}(?:\1${apart}){${more - 1},})`,
  "gu",
);

/** With letters that look like Latin ones as these, and letters that stand apart drawn together; undefined when there are none. */
export function squeezed(before: Mapped): Mapped | undefined {
  const text = lookalikes.in(before.text);
  const runs = text.length < shortestRun ? [] : [...text.matchAll(spaced)];
  if (runs.length === 0 && text === before.text) return undefined;
  const made = new MappedText();
  let at = 0;
  const copy = (end: number, step: number) => {
    for (; at < end; at += step) made.put(text[at] as string, before.sourceOf(at, at + 1));
    at = end;
  };
  for (const { 0: run, 1: gap = " ", index } of runs) {
    copy(index, 1);
    // Letters beyond the basic plane take two units: there the run stays.
    copy(index + run.length, /[\ud800-\udfff]/.test(run) ? 1 : 1 + gap.length);
  }
  copy(text.length, 1);
  return made;
}
