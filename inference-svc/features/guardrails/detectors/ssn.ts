/** Detects US social security numbers with an assignable area, group and serial (20 CFR 422.103, SSA randomization of 2011). */
import { type CandidateWindow, buildFinder } from "./candidates.ts";
import type { BuiltinDetector } from "./detector.ts";
import { labelBefore, labelReach, labelEndingWith, thingLabel } from "./label.ts";
import { digits, wordUnits } from "./unit-sets.ts";

const ssnLabel =
  /(?:^|[^a-z])(?:ssns?|ss ?#|ss no|soc(?:ial)?\.? ?sec(?:urity)?|tax(?:payer)? (?:id|identification)|social)(?:[^a-z]|$)/;
const otherNumberLabel = labelEndingWith(
  "zip",
  "zip code",
  "postal code",
  "ext(?:ension)?",
  "phone",
  "tel",
  "fax",
  "account",
  "routing",
  "version",
);

/** Numbers printed on specimens, which belong to nobody: on a wallet card of 1938 and in an advertisement of 1940. */
const specimens: ReadonlySet<string> = new Set(["078051120", "219099999"]);

/** Reads the digits of a number, the separator of its groups (0 for none) and its end. */
function groupsAt(
  text: CandidateWindow,
  start: number,
): { number: string; separator: number; end: number } | undefined {
  const area = text.run(start, digits, 10);
  if (area - start === 9) return { number: text.slice(start, area), separator: 0, end: area };
  if (area - start !== 3) return undefined;
  const separator = text.at(area);
  if (separator !== 0x2d && separator !== 0x20 && separator !== 0x2e && separator !== 0x2011) return undefined;
  const group = text.run(area + 1, digits, 3);
  if (group - area !== 3 || text.at(group) !== separator) return undefined;
  const end = text.run(group + 1, digits, 5);
  if (end - group !== 5) return undefined;
  const number = text.slice(start, area) + text.slice(area + 1, group) + text.slice(group + 1, end);
  return { number, separator, end };
}

function isAssignable(number: string): boolean {
  const area = number.slice(0, 3);
  if (area === "000" || area === "666" || area >= "900") return false;
  if (number.slice(3, 5) === "00" || number.slice(5) === "0000") return false;
  return !specimens.has(number) && !/^(\d)\1+$/.test(number);
}

const isDash = (unit: number): boolean => unit === 0x2d || unit === 0x2e || unit === 0x2f;

function isBounded(text: CandidateWindow, start: number, end: number): boolean {
  if (wordUnits[text.at(end)] === 1 || (isDash(text.at(end)) && digits[text.at(end + 1)] === 1)) return false;
  return !(isDash(text.at(start - 1)) && wordUnits[text.at(start - 2)] === 1);
}

/** Whether the form or the label in front makes the digits a social security number. Dashes are the usual form; any other form needs a label. */
function isLabelledSsn(text: CandidateWindow, start: number, separator: number): boolean {
  const label = labelBefore(text, start);
  if (ssnLabel.test(label)) return !otherNumberLabel.test(label);
  return (separator === 0x2d || separator === 0x2011) && !thingLabel.test(label) && !otherNumberLabel.test(label);
}

function match(text: CandidateWindow, start: number): number | undefined {
  const groups = groupsAt(text, start);
  if (groups === undefined || !isAssignable(groups.number) || !isBounded(text, start, groups.end)) return undefined;
  return isLabelledSsn(text, start, groups.separator) ? groups.end : undefined;
}

export const ssn: BuiltinDetector = {
  slug: "ssn",
  engine: "format",
  finder: buildFinder({ behind: labelReach, ahead: 16, first: digits, notAfter: wordUnits, match }),
};
