/**
 * Detects payment card numbers by issuer, length and check digit (ISO/IEC 7812), unless the label in front says that
 * the number is something else.
 */
import { type CandidateWindow, buildFinder, noUnit } from "./candidates.ts";
import type { BuiltinDetector } from "./detector.ts";
import { labelBefore, labelReach, thingLabel } from "./label.ts";
import { digits, unitSet, wordUnits } from "./unit-sets.ts";

const maxDigits = 19;

/** Ranges of first digits, each with the lengths of the numbers its issuer gives out. */
const issuers: readonly (readonly [from: number, to: number, lengths: readonly number[]])[] = [
  [4, 4, [13, 16, 19]], // Visa
  [51, 55, [16]], // Mastercard
  [2221, 2720, [16]],
  [34, 34, [15]], // American Express
  [37, 37, [15]],
  [300, 305, [14]], // Diners Club
  [36, 36, [14]],
  [38, 39, [14]],
  [6011, 6011, [16, 19]], // Discover
  [644, 659, [16, 19]],
  [62, 62, [16, 17, 18, 19]], // UnionPay
  [3528, 3589, [16, 19]], // JCB
  [2200, 2204, [16, 19]], // Mir
  [5018, 5020, [13, 15, 16, 19]], // Maestro
  [5038, 5038, [13, 15, 16, 19]],
  [5893, 5893, [16, 19]],
  [6304, 6304, [16, 19]],
  [6759, 6763, [16, 19]],
  [508, 508, [16]], // RuPay
  [606, 608, [16]],
  [9792, 9792, [16]], // Troy
  [506, 507, [16, 18, 19]], // Verve
];

/** Lengths that EAN codes and ids of parcels also have: a number of such a length needs a card label in front. */
const ambiguousLengths: ReadonlySet<number> = new Set([13, 19]);

const cardLabel =
  /(?:^|[^a-z])(?:cards?|pan|visa|master ?card|maestro|amex|american express|discover|diners|jcb|unionpay|karten?(?:nummer)?|kreditkarte|carte|tarjeta|cc)(?:[^a-z]|$)/;
const separators = unitSet(" -\u00a0\u2009\u202f\u2011\u2013");

/** Matches the sizes of digit groups in card numbers: fours, or 4-6-5 and 4-6-4 for shorter cards. The separators are always equal. */
const groupings = /^(?:4,4,4,[1-4](?:,[1-3])?|4,6,[45])$/;

interface Candidate {
  readonly number: string;
  readonly end: number;
}

/** Possible card numbers at this place, the longest last. There are several because groups after a card number may be its date or code. */
function numbersAt(text: CandidateWindow, start: number): readonly Candidate[] {
  const first = text.run(start, digits, maxDigits + 1);
  if (first - start !== 4) return [{ number: text.slice(start, first), end: first }];
  const separator = text.at(first);
  if (separators[separator] !== 1) return [];
  const candidates: Candidate[] = [];
  let [number, sizes, end] = [text.slice(start, first), "4", first];
  while (text.at(end) === separator && number.length < maxDigits) {
    const next = text.run(end + 1, digits, 7);
    number += text.slice(end + 1, next);
    sizes += `,${next - end - 1}`;
    end = next;
    if (groupings.test(sizes)) candidates.push({ number, end });
  }
  return candidates;
}

function passesLuhn(number: string): boolean {
  let sum = 0;
  for (let i = number.length - 1, double = false; i >= 0; i--, double = !double) {
    const digit = number.charCodeAt(i) - 48;
    sum += double ? (digit > 4 ? 2 * digit - 9 : 2 * digit) : digit;
  }
  return sum % 10 === 0;
}

const isIssued = (number: string): boolean =>
  issuers.some(([from, to, lengths]) => {
    const prefix = Number(number.slice(0, String(from).length));
    return from <= prefix && prefix <= to && lengths.includes(number.length);
  });

function isBounded(text: CandidateWindow, start: number, end: number): boolean {
  if (wordUnits[text.at(end)] === 1) return false;
  const continues = text.at(end) === 0x2d || text.at(end) === 0x2e;
  if (continues && digits[text.at(end + 1)] === 1) return false;
  const before = text.at(start - 1);
  return !(
    (before === 0x2d || before === 0x2e) &&
    text.at(start - 2) !== noUnit &&
    wordUnits[text.at(start - 2)] === 1
  );
}

function isLabelledCard(text: CandidateWindow, start: number, length: number): boolean {
  const label = labelBefore(text, start);
  return cardLabel.test(label) || (!ambiguousLengths.has(length) && !thingLabel.test(label));
}

function match(text: CandidateWindow, start: number): number | undefined {
  const isCard = ({ number, end }: Candidate) =>
    isIssued(number) && passesLuhn(number) && isBounded(text, start, end) && isLabelledCard(text, start, number.length);
  return numbersAt(text, start).findLast(isCard)?.end;
}

export const creditCard: BuiltinDetector = {
  slug: "credit-card",
  engine: "checksum",
  finder: buildFinder({ behind: labelReach, ahead: 32, first: digits, notAfter: wordUnits, match }),
};
