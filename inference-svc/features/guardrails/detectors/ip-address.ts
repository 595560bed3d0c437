/** Detects IPv4 and IPv6 addresses, but not software versions, numbered sections, times and hardware addresses. */
import { isIPv4, isIPv6 } from "node:net";
import { type CandidateWindow, buildFinder } from "./candidates.ts";
import type { BuiltinDetector } from "./detector.ts";
import { labelBefore, labelReach, labelEndingWith } from "./label.ts";
import { digits, unitSet, wordUnits } from "./unit-sets.ts";

const colon = 0x3a;
const dot = 0x2e;
const hex = unitSet("0-9", "a-f", "A-F");
const ipv4Units = unitSet("0-9", ".");
const ipv6Units = unitSet("0-9", "a-f", "A-F", ":.");
const zone = unitSet("0-9", "a-z", "A-Z", "._-");

/** Maximum length of an address: that of ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255, without a zone. */
const maxAddress = 45;
const maxZone = 16;

const versionLabel = labelEndingWith(
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

function ipv4At(text: CandidateWindow, start: number): number | undefined {
  const before = text.at(start - 1);
  if (before === dot && wordUnits[text.at(start - 2)] === 1) return undefined;
  // Build numbers and ranges, such as 10-1.2.3.4, are not addresses.
  if (before === 0x2d && digits[text.at(start - 2)] !== 1 && wordUnits[text.at(start - 2)] === 1) return undefined;
  let end = text.run(start, ipv4Units, 17);
  while (end > start && text.at(end - 1) === dot) end--;
  if (wordUnits[text.at(end)] === 1) return undefined;
  // A dash and a letter after four parts mean a version, such as 1.2.3.4-beta.
  const next = text.at(end + 1);
  if (text.at(end) === 0x2d && wordUnits[next] === 1 && digits[next] !== 1) return undefined;
  const address = text.slice(start, end);
  if (!isIPv4(address)) return undefined;
  return isVersion(text, start, address) ? undefined : end;
}

/** Whether the digits are a software version, which products write after a slash, as in `Chrome/120.0.0.0`. */
function isVersion(text: CandidateWindow, start: number, address: string): boolean {
  const label = labelBefore(text, start);
  if (versionLabel.test(label)) return !/(?:^|[^a-z])(?:ip|address|host|server)s?[\s:]*$/.test(label);
  return /[a-z]\/$/.test(label) && (address.endsWith(".0.0") || Number(address.split(".", 1)[0]) < 10);
}

function ipv6At(text: CandidateWindow, start: number): number | undefined {
  if (text.at(start - 1) === colon && followsGroup(text, start)) return undefined;
  let end = text.run(start, ipv6Units, maxAddress + 1);
  if (end === start) return undefined;
  if (text.at(end - 1) === dot) end--;
  // A single colon at the end is punctuation; two belong to the address.
  if (text.at(end - 1) === colon && text.at(end - 2) !== colon) end--;
  const address = text.slice(start, end);
  if (!isIPv6(address) || !isPlausible(address)) return undefined;
  if (text.at(end) === 0x25) return text.run(end + 1, zone, maxZone);
  return wordUnits[text.at(end)] === 1 ? undefined : end;
}

/** Whether the colon in front continues an address rejected: its rest must not match. */
function followsGroup(text: CandidateWindow, start: number): boolean {
  let place = start - 2;
  while (start - place < 7 && hex[text.at(place)] === 1) place--;
  return text.at(start - 2) === colon || (place < start - 2 && wordUnits[text.at(place)] !== 1);
}

/** Whether the address is not a program identifier (`abc::def`) or a hardware address of eight pairs. */
function isPlausible(address: string): boolean {
  const groups = address.split(":");
  if (!/\d/.test(address)) return groups.length > 4;
  return !(groups.length === 8 && groups.every((group) => group.length === 2));
}

function match(text: CandidateWindow, start: number): number | undefined {
  if (digits[text.at(start)] === 1) {
    // The unit after the first digits tells IPv4 from IPv6.
    const after = text.at(text.run(start, digits, 4));
    if (after === dot) return ipv4At(text, start);
  }
  return ipv6At(text, start);
}

export const ipAddress: BuiltinDetector = {
  slug: "ip-address",
  engine: "format",
  finder: buildFinder({
    behind: labelReach,
    ahead: maxAddress + maxZone + 2,
    first: unitSet("0-9", "a-f", "A-F", ":"),
    notAfter: wordUnits,
    match,
  }),
};
