/** Secrets that only their surroundings give away: a key word in front, and a value as irregular as chance. */
import type { Window } from "../candidates.ts";
import { labelBefore } from "../label.ts";
import { including, letters, units, wordUnits } from "../units.ts";

const token = including(wordUnits, "+/=.~-");
const printable = units("!-~");
const shortestToken = 20;
const longestToken = 200;

/** Bits per unit. English words and identifiers lie below, random base64 of 20 units near 4, hexadecimal near 3.7. */
const leastEntropy = 3.5;

const keyWords =
  "api[ _-]?keys?|apikey|access[ _-]?keys?|account[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|client[ _-]?secret|[a-z]*[ _-]?token|auth(?:orization)?|bearer|credentials?|private[ _-]?key|signing[ _-]?key|encryption[ _-]?key|master[ _-]?key|webhook[ _-]?secret|sharedaccesskey";
const passwords = "pass(?:word|wd|phrase|wort)?|pwd|passcode|contraseña|mot de passe|kennwort";
const assigns = String.raw`["'\`]?(?:\s*(?::=|=>|[:=])|\s+(?:is|was|to|ist|are))?\s*["'\`]?$`;

/** The word, and what links it to the value right after it. */
const beforeToken = new RegExp(`(?:^|[^a-z])(?:[a-z]+[_-])*(?:${keyWords}|${passwords})${assigns}`);
const beforePassword = new RegExp(
  String.raw`(?:^|[^a-z])(?:[a-z]+[_-])*(?:${passwords})["'\`]?\s*(?:[:=]|\bis\b)\s*["'\`]?$`,
);
/** `scheme://name:`, then the word that opens it. */
const beforeLogin = /[a-z][a-z\d+.-]*:\/\/[^\s:/@]*:$/;

/** Not a secret but where one goes. */
const named = /^(?:user)?(?:name|password|passwd|pass|secret|token)$/i;
const stand =
  /your|example|placeholder|change-?me|xxxx|\*\*\*|insert|redacted|dummy|sample|<|>|\$\{|\{\{|^(?:none|null|true|false|undefined)$/i;
const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/** Shannon's entropy of the units of a text, in bits per unit. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const unit of text) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Last words of what such a label can end in: the one check that nearly every word of a text fails, and cheap. */
const endings = new Set(
  "is was to ist are key keys apikey token secret authorization auth bearer credential credentials sharedaccesskey password passwd passphrase passwort pwd passcode contraseña passe kennwort pass".split(
    " ",
  ),
);
const filling = units(" \t\"'`");
const assigning = units(":=>");
const longestEnding = 15;

function mayFollow(text: Window, start: number): boolean {
  let end = start;
  while (start - end < 4 && filling[text.at(end - 1)] === 1) end--;
  if (assigning[text.at(end - 1)] === 1) return true;
  let begin = end;
  while (end - begin <= longestEnding && letters[text.at(begin - 1)] === 1) begin--;
  return end - begin > 1 && endings.has(text.slice(begin, end).toLowerCase());
}

/** End of a value that starts here and that the words before it call a secret. */
export function assignedAt(text: Window, start: number): number | undefined {
  if (!mayFollow(text, start)) return undefined;
  const label = labelBefore(text, start);
  if (beforeLogin.test(label)) return loginAt(text, start);
  return (
    (beforeToken.test(label) ? tokenAt(text, start) : undefined) ??
    (beforePassword.test(label) ? passwordAt(text, start) : undefined)
  );
}

function tokenAt(text: Window, start: number): number | undefined {
  let end = text.run(start, token, longestToken);
  while (end > start && text.at(end - 1) === 0x2e) end--;
  const value = text.slice(start, end);
  if (value.length < shortestToken || stand.test(value) || uuid.test(value)) return undefined;
  if (!/\d/.test(value) || !/[a-z]/i.test(value) || /^[./~]/.test(value)) return undefined;
  return entropyOf(value) >= leastEntropy ? end : undefined;
}

/** Eight units or more of three kinds out of four: no word of a sentence. */
function passwordAt(text: Window, start: number): number | undefined {
  if (filling[text.at(start)] === 1) return undefined;
  let end = text.run(start, printable, 64);
  while (end > start && /["'`,;.)\]}]/.test(text.slice(end - 1, end))) end--;
  const value = text.slice(start, end);
  if (value.length < 8 || stand.test(value) || /[()[\]/\\]/.test(value)) return undefined;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].filter((kind) => kind.test(value)).length;
  return kinds >= 3 ? end : undefined;
}

function loginAt(text: Window, start: number): number | undefined {
  const end = text.run(start, printable, longestToken);
  const at = text.slice(start, end).indexOf("@");
  const value = text.slice(start, start + at);
  return at < 4 || stand.test(value) || named.test(value) || value.includes("/") ? undefined : start + at;
}
