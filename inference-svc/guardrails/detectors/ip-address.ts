/** IPv4 and IPv6 addresses, told from versions, numbered sections, times and hardware addresses. */
import { isIPv4, isIPv6 } from "node:net";
import { type Window, finderOf } from "./candidates.ts";
import type { Detector } from "./detector.ts";
import { labelBefore, labelReach, labelled } from "./label.ts";
import { digits, units, wordUnits } from "./units.ts";

const colon = 0x3a;
const dot = 0x2e;
const hex = units("0-9", "a-f", "A-F");
const ofFour = units("0-9", ".");
const ofSix = units("0-9", "a-f", "A-F", ":.");
const zone = units("0-9", "a-z", "A-Z", "._-");

/** ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255, then %zone of 15. */
const longest = 45;
const longestZone = 16;

const ofVersions = labelled(
  "v",
  "ver",
  "versions?",
  "releases?",
  "builds?",
  "firmware",
  "upgrad(?:e|ed|ing)(?: to| from)?",
  "updat(?:e|ed|ing)(?: to| from)?",
  "patch(?:ed)?(?: to)?",
  "downgrad(?:e|ed)(?: to)?",
  "sections?",
  "clauses?",
  "chapters?",
  "paragraphs?",
  "articles?",
  "tables?",
  "figures?",
  "appendix",
  "§",
  "oid",
  "dll",
  "assembly",
  "driver",
);

function fourAt(text: Window, start: number): number | undefined {
  const before = text.at(start - 1);
  if (before === dot && wordUnits[text.at(start - 2)] === 1) return undefined;
  // Build numbers and ranges: 10-1.2.3.4
  if (before === 0x2d && digits[text.at(start - 2)] !== 1 && wordUnits[text.at(start - 2)] === 1) return undefined;
  let end = text.run(start, ofFour, 17);
  while (end > start && text.at(end - 1) === dot) end--;
  if (wordUnits[text.at(end)] === 1) return undefined;
  // More of it follows: four parts of a longer number, or a version such as 1.2.3.4-beta.
  const next = text.at(end + 1);
  if (text.at(end) === 0x2d && wordUnits[next] === 1 && digits[next] !== 1) return undefined;
  const address = text.slice(start, end);
  if (!isIPv4(address)) return undefined;
  return isVersion(text, start, address) ? undefined : end;
}

/** `Chrome/120.0.0.0`: products write their versions after a slash, hosts their addresses. */
function isVersion(text: Window, start: number, address: string): boolean {
  const label = labelBefore(text, start);
  if (ofVersions.test(label)) return !/(?:^|[^a-z])(?:ip|address|host|server)s?[\s:]*$/.test(label);
  return /[a-z]\/$/.test(label) && (address.endsWith(".0.0") || Number(address.split(".", 1)[0]) < 10);
}

function sixAt(text: Window, start: number): number | undefined {
  if (text.at(start - 1) === colon && followsGroup(text, start)) return undefined;
  let end = text.run(start, ofSix, longest + 1);
  if (end === start) return undefined;
  if (text.at(end - 1) === dot) end--;
  // The colon of a sentence; two are part of the address.
  if (text.at(end - 1) === colon && text.at(end - 2) !== colon) end--;
  const address = text.slice(start, end);
  if (!isIPv6(address) || !isMeant(address)) return undefined;
  if (text.at(end) === 0x25) return text.run(end + 1, zone, longestZone);
  return wordUnits[text.at(end)] === 1 ? undefined : end;
}

/** Whether the colon in front belongs to what could be the same address: a part of a refused one is none. */
function followsGroup(text: Window, start: number): boolean {
  let place = start - 2;
  while (start - place < 7 && hex[text.at(place)] === 1) place--;
  return text.at(start - 2) === colon || (place < start - 2 && wordUnits[text.at(place)] !== 1);
}

/** `abc::def` names something in a program, sixteen digits in pairs are a piece of hardware. */
function isMeant(address: string): boolean {
  const groups = address.split(":");
  if (!/\d/.test(address)) return groups.length > 4;
  return !(groups.length === 8 && groups.every((group) => group.length === 2));
}

function match(text: Window, start: number): number | undefined {
  if (digits[text.at(start)] === 1) {
    // Whatever follows the digits says which of the two it is.
    const after = text.at(text.run(start, digits, 4));
    if (after === dot) return fourAt(text, start);
  }
  return sixAt(text, start);
}

export const ipAddress: Detector = {
  slug: "ip-address",
  engine: "format",
  finder: finderOf({
    behind: labelReach,
    ahead: longest + longestZone + 2,
    first: units("0-9", "a-f", "A-F", ":"),
    notAfter: wordUnits,
    match,
  }),
};
