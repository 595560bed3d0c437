/** Telephone numbers: international ones by their numbering plan, national ones by their form or by the words in front of them. */
import { type Window, finderOf } from "./candidates.ts";
import type { Detector } from "./detector.ts";
import { labelBefore, labelReach, ofThings } from "./label.ts";
import { isInternational } from "./numbering-plan.ts";
import { digits, including, units, wordUnits } from "./units.ts";

const plus = 0x2b;
/** E.164, with the 00 that some dial in front of it. */
const mostDigits = 17;
const fewestDigits = 7;

const separators = units(" -./()\u00a0\u2009\u202f\u2010\u2011\u2013");
/** `) - ` is the longest that people write between two groups. */
const longestSeparator = 4;

const words = [
  "(?:tele)?phones?",
  "tel",
  "mobiles?",
  "mob",
  "cell(?:ular)?",
  "call(?:ed|ing)?",
  "callback",
  "fax",
  "whatsapp",
  "signal",
  "sms",
  "text(?:ed)?",
  "dial(?:led|ed)?",
  "ring",
  "hotline",
  "landline",
  "reach(?:able)?",
  "contact",
  "(?:mobil)?telefon(?:nummer|o|e)?",
  "rufnummer",
  "handy(?:nummer)?",
  "anrufen",
  "t[ée]l(?:[ée]phone)?",
  "portable",
  "tel[ée]fono",
  "m[óo]vil",
  "celular(?:e)?",
  "cellulare",
  "llam[ae]\\w*",
  "ligue",
  "number",
];
const calledPhone = new RegExp(String.raw`(?:^|[^\p{L}])(?:${words.join("|")})(?![\p{L}])[^\d\n,;]{0,22}$`, "u");
const notPhones =
  /(?:zip|iban|account|routing|swift|tax|vat|order|invoice|serial|model|version|ticket|case|tracking|policy|member|customer|employee|student|part|card|id)(?: no\.?| id| number| #)?[^\d\n,;]{0,6}$/;

interface Group {
  /** All digits up to here. */
  readonly number: string;
  readonly end: number;
}

/** The groups of digits that hang together from here on, as far as a number can be. */
function groupsAt(text: Window, start: number): readonly Group[] {
  const groups: Group[] = [];
  let number = "";
  let place = separators[text.at(start)] === 1 || text.at(start) === plus ? start + 1 : start;
  if (text.at(start) === plus && text.at(place) === 0x28) place++;
  for (;;) {
    const end = text.run(place, digits, mostDigits + 1);
    number += text.slice(place, end);
    if (end === place || number.length > mostDigits) return groups;
    groups.push({ number, end });
    place = text.run(end, separators, longestSeparator);
    if (place === end) return groups;
  }
}

/** Numbers of ten digits whose form is telling: North American with its punctuation, French pairs, a trunk zero and groups. */
const telling = [
  /^(?:1[ .-]?)?(?:\([2-9][0-8]\d\) ?|[2-9][0-8]\d[-.])[2-9]\d\d[-. ]\d{4}$/,
  /^0[1-9](?:([ .-])\d\d)(?:\1\d\d){3}$/,
  /^\(?0[1-9]\d{1,4}\)? \d{3,4}[ -]?\d{3,4}$/,
];

const dates = /^(?:(?:19|20)\d\d([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:19|20)\d\d)/;
const amounts = /^\d{1,3}(?:[ .]\d{3})+$|^\d+\.\d+$/;

function isNational(written: string, number: string, label: string): boolean {
  if (dates.test(written) || number.length < fewestDigits || number.length > 15) return false;
  if (telling.some((form) => form.test(written))) return !ofThings.test(label) && !notPhones.test(label);
  return calledPhone.test(label) && !notPhones.test(label) && !amounts.test(written);
}

function isBounded(text: Window, start: number, end: number): boolean {
  if (wordUnits[text.at(end)] === 1 || text.at(end) === 0x40) return false;
  const before = text.at(start - 1);
  const inside = before === 0x2d || before === 0x2e || before === 0x2f || before === plus;
  return !(inside && wordUnits[text.at(start - 2)] === 1);
}

/** Digits after digits are groups of something longer, unless they are grouped another way: `2 415-555-0123`. */
function continues(text: Window, start: number): boolean {
  if (digits[text.at(start)] !== 1 || separators[text.at(start - 1)] !== 1 || digits[text.at(start - 2)] !== 1)
    return false;
  const next = text.at(text.run(start, digits, 4));
  return next !== 0x2d && next !== 0x2e;
}

function match(text: Window, start: number): number | undefined {
  if (continues(text, start)) return undefined;
  const groups = groupsAt(text, start);
  if (groups.length === 0) return undefined;
  const label = labelBefore(text, start);
  const isPhone = ({ number, end }: Group) => {
    if (!isBounded(text, start, end)) return false;
    const written = text.slice(start, end);
    if (written.startsWith("+")) return isInternational(withoutTrunk(written, number));
    if (number.startsWith("00"))
      return isInternational(withoutTrunk(written, number).slice(2)) && !ofThings.test(label);
    return isNational(written, number, label);
  };
  return groups.findLast(isPhone)?.end;
}

/** `+44 (0)20 7946 0958`: the zero is for those at home. */
function withoutTrunk(written: string, number: string): string {
  const trunk = written.indexOf("(0)");
  if (trunk < 0) return number;
  const before = written.slice(0, trunk).replace(/\D/g, "").length;
  return number.slice(0, before) + number.slice(before + 1);
}

export const phone: Detector = {
  slug: "phone",
  engine: "format",
  finder: finderOf({
    behind: labelReach,
    ahead: 48,
    first: units("0-9", "+("),
    notAfter: including(wordUnits, "+"),
    match,
  }),
};
