/** Alignment rules about the length of a message. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import type { Message } from "../message.ts";
import {
  type LocalRule,
  type Template,
  countPattern,
  parseCountPhrase,
  mustPhrase,
  neverPhrase,
  replyPhrase,
  totalRule,
} from "./rule.ts";

const locale = "en";
const wordsIn = new Intl.Segmenter(locale, { granularity: "word" });
const sentencesIn = new Intl.Segmenter(locale, { granularity: "sentence" });

const holdsLetter = /[\p{L}\p{N}]/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Counts words. A word contains a letter or digit and ends at a space or dash; scripts without spaces are divided by dictionaries. */
function wordsOf(text: string): number {
  let words = 0;
  for (const run of text.split(/[\s\u2013\u2014]+/)) {
    if (unspaced.test(run)) words += lengthOf(wordsIn.segment(run), ({ isWordLike }) => isWordLike === true);
    else if (holdsLetter.test(run)) words++;
  }
  return words;
}

/** Counters by unit: sentences by the Unicode rules for text boundaries, characters by code points, questions by their marks. */
const counts: Readonly<Record<string, (text: string) => number>> = {
  word: wordsOf,
  character: codePointLength,
  sentence: (text) => lengthOf(sentencesIn.segment(text), ({ segment }) => holdsLetter.test(segment)),
  question: (text) => [...text.replaceAll(/\b[a-z]{1,20}:\/\/\S+/gi, "").matchAll(/[?\uff1f\u061f]+/g)].length,
  line: (text) => text.split("\n").filter((line) => line.trim() !== "").length,
  paragraph: (text) => text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== "").length,
};

function lengthOf<Entry>(entries: Iterable<Entry>, counted: (entry: Entry) => boolean): number {
  let length = 0;
  for (const entry of entries) if (counted(entry)) length++;
  return length;
}

/** Counts by message and unit, since several rules may use the same count. */
const found = new WeakMap<Message, Map<string, number>>();

/** @returns undefined for an unknown unit */
function measureOf(unit: string): ((message: Message) => number) | undefined {
  const counted = counts[unit.toLowerCase()];
  return (
    counted &&
    ((message) => {
      const known = found.get(message) ?? new Map<string, number>();
      const length = known.get(unit) ?? counted(message.content ?? "");
      found.set(message, known.set(unit, length));
      return length;
    })
  );
}

/** Whether more text can only increase the count. For sentences it can decrease: two can become one, as can two words split by a dictionary. */
const grows = (unit: string, { content }: Message): boolean =>
  unit !== "sentence" && (unit !== "word" || !unspaced.test(content ?? ""));

/** A rule with a maximum number of units. */
function atMost(unit: string, isAbove: (found: number) => boolean): LocalRule | undefined {
  const measure = measureOf(unit);
  if (measure === undefined) return undefined;
  const isBroken = (message: Message) => isAbove(measure(message));
  return { isTotal: true, isBroken, isBrokenForGood: (begun) => grows(unit.toLowerCase(), begun) && isBroken(begun) };
}

type Bound = (found: number, limit: number) => boolean;

const upperBounds: readonly (readonly [RegExp, Bound])[] = [
  [/^(?:at most|no more than|not more than|a maximum of|up to|within)$/i, (found, limit) => found > limit],
  [/^(?:fewer than|less than|under|below)$/i, (found, limit) => found >= limit],
];
const breaches: readonly (readonly [RegExp, Bound])[] = [
  [
    /^(?:at least|no fewer than|no less than|not fewer than|not less than|a minimum of)$/i,
    (found, limit) => found < limit,
  ],
  [/^(?:more than|over)$/i, (found, limit) => found <= limit],
  [/^exactly$/i, (found, limit) => found !== limit],
];
const bound =
  "(at most|no more than|not more than|a maximum of|up to|within|fewer than|less than|under|below|at least|no fewer than|no less than|" +
  "not fewer than|not less than|a minimum of|more than|over|exactly)";
const unit = "(word|character|sentence|question|line|paragraph)s?";

const opening =
  `(?:${replyPhrase} (?:${mustPhrase} )?(?:be |have |has |contain |contains |use |uses |stay |ask |asks )?|` +
  `(?:always )?(?:use|write|say|give|ask|answer|reply|respond|keep (?:it|${replyPhrase}))(?: (?:in|with|to|of))? )?`;

export const lengthTemplates: readonly Template[] = [
  {
    form: new RegExp(
      `${opening}${bound} ${countPattern} ${unit}(?: long| in length| per reply| in each reply| in every reply)?`,
    ),
    read: ([word = "", limit, what = ""]) => {
      const isAbove = upperBounds.find(([form]) => form.test(word))?.[1];
      if (isAbove) return atMost(what, (found) => isAbove(found, parseCountPhrase(limit)));
      const breach = breaches.find(([form]) => form.test(word))?.[1];
      const measure = measureOf(what);
      if (breach === undefined || measure === undefined) return undefined;
      return totalRule((message) => breach(measure(message), parseCountPhrase(limit)));
    },
  },
  {
    form: new RegExp(`${neverPhrase} (?:use|write|say|ask|exceed) (?:more than )?${countPattern} ${unit}`),
    read: ([limit, what = ""]) => {
      // "Never ask a question" has the number "a", but allows none.
      const most = /^an?$/i.test(limit ?? "") ? 0 : parseCountPhrase(limit);
      return atMost(what, (found) => found > most);
    },
  },
  {
    form: new RegExp(`(?:${neverPhrase} ask |no |ask no )(?:any )?questions`),
    read: () => atMost("question", (found) => found > 0),
  },
];
