/** Speed of a finder, on ordinary text and on text made to be slow. */
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { Random } from "../../support/random.ts";
import { findSpans } from "./finding.ts";

const size = 100_000;
const filled = (part: string): string => part.repeat(Math.ceil(size / part.length)).slice(0, size);

/** Texts of 100,000 UTF-16 units that begin a match again and again, and never end it or fail only at its end. */
export const adversaries: readonly { readonly name: string; readonly text: string }[] = [
  { name: "digits", text: filled("4111111111111111") },
  { name: "digits with spaces", text: filled("4 1 1 1 ") },
  { name: "groups of four", text: filled("4111 1111 1111 1112 ") },
  { name: "at signs", text: filled("@") },
  { name: "letters and dots", text: filled("a.") },
  { name: "mailboxes without an end", text: filled("a@b.") },
  { name: "labels of domains", text: `x@${filled("a-")}` },
  { name: "colons", text: filled("1:") },
  { name: "double colons", text: filled("1::") },
  { name: "plus signs", text: filled("+49 ") },
  { name: "parentheses", text: filled("(") },
  { name: "telephones", text: filled("call +49 30 1 2 3 ") },
  { name: "armour", text: filled("-----BEGIN PRIVATE KEY-----\nAAAA") },
  { name: "beginnings of armour", text: filled("-----BEGIN ") },
  { name: "dashes", text: filled("-") },
  { name: "key words", text: filled("api key token secret password is ") },
  { name: "values", text: filled("password=Aa1!Aa1! ") },
  { name: "beginnings of claims", text: filled("eyJ.") },
  { name: "capitals", text: filled("A ") },
  { name: "titles", text: filled("Mr. Dr. Anna ") },
  { name: "streets", text: filled("1 Main St, ") },
  { name: "houses", text: filled("12 rue de la ") },
  { name: "attempts", text: filled("ignore all ") },
  { name: "orders", text: filled("show your ignore all previous any your ") },
  { name: "spaces", text: filled(" ") },
  { name: "one word", text: filled("i") },
  { name: "surrogates", text: filled("😀") },
];

const words =
  "the of and to in is that for it was on are as with they at be this have from or one had by word but not what all were we when your can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more write go see number no way could people my than first water been call who oil its now find long down day did get come made may part over new sound take only little work know place year live me back give most very after thing our just name good sentence man think say great where help through much before line right too means old any same tell boy follow came want show also around form three small set put end does another well large must big even such because turn here why ask went men read need land different home us move try kind hand picture again change off play spell air away animal house point page letter mother answer found study still learn should".split(
    " ",
  );

/** Prose with the usual numbers, names and addresses. */
export function ordinaryText(units: number, chance = new Random(3)): string {
  const parts: string[] = [];
  for (let length = 0; length < units; ) {
    const word = chance.chance(0.03) ? String(chance.below(100_000)) : chance.pick(words);
    const written = chance.chance(0.08) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    const part = written + chance.pick([" ", " ", " ", " ", " ", " ", ", ", ". "]);
    parts.push(part);
    length += part.length;
  }
  return parts.join("");
}

/** Milliseconds of processor time for a scan; elapsed time would include other processes. */
export function measureScanMs(finder: Finder, text: string): number {
  const before = process.cpuUsage();
  findSpans(finder, [text]);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Mean and maximum number of UTF-16 units held back while a text arrives unit by unit. */
export function measureHeldUnits(finder: Finder, text: string): { mean: number; most: number } {
  const scan = finder.open();
  let [sum, most] = [0, 0];
  for (let come = 1; come <= text.length; come++) {
    const held = come - scan.push(text.charAt(come - 1)).decided;
    sum += held;
    most = Math.max(most, held);
  }
  return { mean: sum / text.length, most };
}
