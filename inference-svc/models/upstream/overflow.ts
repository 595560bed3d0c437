/**
 * Reads the figures in a provider's message about a prompt that is too long. Every vendor and server has different
 * words, and changes them; common to all is a number next to a word for a limit, and a larger number.
 */

import type { Overflow } from "../../turn/provider-error.ts";

const number = /(?<![\w.-])\d+(?![\w-]|\.\d)/g;
const thousands = /(?<=\d),(?=\d{3}(?!\d))/g;

/** Matches words in front of a limit. `limitBehind` matches words after one. */
const limits = [
  /(?:\bmax(?:imum)?\b(?: \w+){0,5}|\blimit\b(?: \w+){0,2}|\bcontext (?:length|window|size)\b)[^\d.;]{0,12}$/i,
  /(?:\bup to|\bonly(?: \w+)?|\bless than|\b(?:cannot|not) exceed|\ballowed\b.{0,3}|<=|>|\[\d+,)\s*$/i,
];
const limitBehind = /^ (?:tokens? )?max(?:imum)?\b/i;
/** Matches words in front of a difference: "exceeded by 20 tokens" states no limit. */
const difference = /\bby (?:about )?$/i;
const longestPhrase = 80;

export function readOverflow(message: string): Overflow {
  const words = message.replace(thousands, "");
  const found = [...words.matchAll(number)].filter(({ index }) => !difference.test(words.slice(0, index)));
  const maximums = found.filter((match) => isLimit(words, match)).map(([digits]) => Number(digits));
  const maximum = smallest(maximums);
  if (maximum === undefined) return {};
  const larger = found
    .map(([digits]) => Number(digits))
    .filter((value) => value > maximum && !maximums.includes(value));
  return { maximum, ...(larger.length > 0 && { requested: Math.max(...larger) }) };
}

function isLimit(words: string, { 0: digits, index }: RegExpExecArray): boolean {
  const before = words.slice(Math.max(0, index - longestPhrase), index);
  return limits.some((limit) => limit.test(before)) || limitBehind.test(words.slice(index + digits.length));
}

const smallest = (values: readonly number[]): number | undefined =>
  values.filter((value) => value > 0).toSorted((one, other) => one - other)[0];
