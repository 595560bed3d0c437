/** Detects phone numbers: international numbers by their country's numbering plan, national numbers by their form or the label in front. */
import { type CandidateWindow, buildFinder } from "./candidates.ts";
import type { BuiltinDetector } from "./detector.ts";
import { labelBefore, labelReach, thingLabel } from "./label.ts";
import { digits, extendSet, unitSet, wordUnits } from "./unit-sets.ts";
import { Metadata } from "libphonenumber-js/min";

const plus = 0x2b;
/** Maximum digits of a number: the longest of E.164, with the dialling prefix 00. */
const maxDigits = 17;
const minDigits = 7;

const separators = unitSet(" -./()\u00a0\u2009\u202f\u2010\u2011\u2013");
/** Length of the longest separator in use: `) - `. */
const maxSeparator = 4;

const phoneWords = [
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
const phoneLabel = new RegExp(String.raw`(?:^|[^\p{L}])(?:${phoneWords.join("|")})(?![\p{L}])[^\d\n,;]{0,22}$`, "u");
const otherNumberLabel =
  /(?:zip|iban|account|routing|swift|tax|vat|order|invoice|serial|model|version|ticket|case|tracking|policy|member|customer|employee|student|part|card|id)(?: no\.?| id| number| #)?[^\d\n,;]{0,6}$/;

interface Group {
  /** All digits from the number's start to this group's end. */
  readonly number: string;
  readonly end: number;
}

/** The digit groups from this place that could form one number. */
function groupsAt(text: CandidateWindow, start: number): readonly Group[] {
  const groups: Group[] = [];
  let number = "";
  let place = separators[text.at(start)] === 1 || text.at(start) === plus ? start + 1 : start;
  if (text.at(start) === plus && text.at(place) === 0x28) place++;
  for (;;) {
    const end = text.run(place, digits, maxDigits + 1);
    number += text.slice(place, end);
    if (end === place || number.length > maxDigits) return groups;
    groups.push({ number, end });
    place = text.run(end, separators, maxSeparator);
    if (place === end) return groups;
  }
}

/** Patterns of national numbers recognized without a label: North American punctuation, French pairs, groups after a trunk zero. */
const distinctiveForms = [
  /^(?:1[ .-]?)?(?:\([2-9][0-8]\d\) ?|[2-9][0-8]\d[-.])[2-9]\d\d[-. ]\d{4}$/,
  /^0[1-9](?:([ .-])\d\d)(?:\1\d\d){3}$/,
  /^\(?0[1-9]\d{1,4}\)? \d{3,4}[ -]?\d{3,4}$/,
];

const dates = /^(?:(?:19|20)\d\d([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:19|20)\d\d)/;
const amounts = /^\d{1,3}(?:[ .]\d{3})+$|^\d+\.\d+$/;

function isNational(written: string, number: string, label: string): boolean {
  if (dates.test(written) || number.length < minDigits || number.length > 15) return false;
  if (distinctiveForms.some((form) => form.test(written)))
    return !thingLabel.test(label) && !otherNumberLabel.test(label);
  return phoneLabel.test(label) && !otherNumberLabel.test(label) && !amounts.test(written);
}

function isBounded(text: CandidateWindow, start: number, end: number): boolean {
  if (wordUnits[text.at(end)] === 1 || text.at(end) === 0x40) return false;
  const before = text.at(start - 1);
  const inside = before === 0x2d || before === 0x2e || before === 0x2f || before === plus;
  return !(inside && wordUnits[text.at(start - 2)] === 1);
}

/** Whether the digits are part of a longer number. Digits in front that are grouped differently do not count, as in `2 415-555-0123`. */
function isWithinLongerNumber(text: CandidateWindow, start: number): boolean {
  if (digits[text.at(start)] !== 1 || separators[text.at(start - 1)] !== 1 || digits[text.at(start - 2)] !== 1)
    return false;
  const next = text.at(text.run(start, digits, 4));
  return next !== 0x2d && next !== 0x2e;
}

function match(text: CandidateWindow, start: number): number | undefined {
  if (isWithinLongerNumber(text, start)) return undefined;
  const groups = groupsAt(text, start);
  if (groups.length === 0) return undefined;
  const label = labelBefore(text, start);
  const isPhone = ({ number, end }: Group) => {
    if (!isBounded(text, start, end)) return false;
    const written = text.slice(start, end);
    if (written.startsWith("+")) return isInternational(withoutTrunk(written, number));
    if (number.startsWith("00"))
      return isInternational(withoutTrunk(written, number).slice(2)) && !thingLabel.test(label);
    return isNational(written, number, label);
  };
  return groups.findLast(isPhone)?.end;
}

interface Plan {
  readonly lengths: ReadonlySet<number>;
  readonly pattern: RegExp;
}

/** Used part of the package's metadata class; the declarations of the package cover only countries. */
interface Plans {
  hasCallingCode(code: string): boolean;
  selectNumberingPlan(code: string): void;
  readonly numberingPlan: { possibleLengths(): readonly number[]; nationalNumberPattern(): string };
}

const metadata = new Metadata() as unknown as Plans;
const plans = new Map<string, Plan | undefined>();

/** The numbering plan of a country code. Plans are built on first use: of some 200, a gateway meets few. */
function cachedPlan(code: string): Plan | undefined {
  if (!plans.has(code)) plans.set(code, readPlan(code));
  return plans.get(code);
}

function readPlan(code: string): Plan | undefined {
  if (!metadata.hasCallingCode(code)) return undefined;
  metadata.selectNumberingPlan(code);
  const { numberingPlan } = metadata;
  return {
    lengths: new Set(numberingPlan.possibleLengths()),
    pattern: new RegExp(`^(?:${numberingPlan.nationalNumberPattern()})$`),
  };
}

/** Whether the digits are a country code and a number of its plan. No country code begins with another one. */
function isInternational(number: string): boolean {
  for (let size = 1; size <= 3; size++) {
    const plan = cachedPlan(number.slice(0, size));
    if (plan === undefined) continue;
    const national = number.slice(size);
    return plan.lengths.has(national.length) && plan.pattern.test(national);
  }
  return false;
}

/** The digits without a trunk zero in parentheses, as dialled from abroad: `+44 (0)20 7946 0958`. */
function withoutTrunk(written: string, number: string): string {
  const trunk = written.indexOf("(0)");
  if (trunk < 0) return number;
  const before = written.slice(0, trunk).replace(/\D/g, "").length;
  return number.slice(0, before) + number.slice(before + 1);
}

export const phone: BuiltinDetector = {
  slug: "phone",
  engine: "format",
  finder: buildFinder({
    behind: labelReach,
    ahead: 48,
    first: unitSet("0-9", "+("),
    notAfter: extendSet(wordUnits, "+"),
    match,
  }),
};
