/** Detects secrets by what stands in front: a key word such as `password`, followed by a random-looking value. */
import type { CandidateWindow } from "../candidates.ts";
import { labelBefore } from "../label.ts";
import { extendSet, letters, unitSet, wordUnits } from "../unit-sets.ts";

const token = extendSet(wordUnits, "+/=.~-");
const printable = unitSet("!-~");
const minToken = 20;
const maxToken = 200;

/**
 * Minimum entropy of a secret in bits per UTF-16 unit. English words have less; 20 random units have about 4 in base64,
 * 3.7 in hexadecimal.
 */
const minEntropy = 3.5;

const keyWords =
  "api[ _-]?keys?|apikey|access[ _-]?keys?|account[ _-]?key|secret(?:[ _-]?(?:access[ _-]?)?key)?|client[ _-]?secret|[a-z]*[ _-]?token|auth(?:orization)?|bearer|credentials?|private[ _-]?key|signing[ _-]?key|encryption[ _-]?key|master[ _-]?key|webhook[ _-]?secret|sharedaccesskey";
const passwords = "pass(?:word|wd|phrase|wort)?|pwd|passcode|contraseña|mot de passe|kennwort";
const assigns = String.raw`["'\`]?(?:\s*(?::=|=>|[:=])|\s+(?:is|was|to|ist|are))?\s*["'\`]?$`;

/** Matches a key word, with the link to the value right after it. */
const beforeToken = new RegExp(`(?:^|[^a-z])(?:[a-z]+[_-])*(?:${keyWords}|${passwords})${assigns}`);
const beforePassword = new RegExp(
  String.raw`(?:^|[^a-z])(?:[a-z]+[_-])*(?:${passwords})["'\`]?\s*(?:[:=]|\bis\b)\s*["'\`]?$`,
);
/** Matches `scheme://name:`, the text in front of a password. */
const beforeLogin = /[a-z][a-z\d+.-]*:\/\/[^\s:/@]*:$/;

/** Matches names of login fields, which are placeholders and no secrets. */
const fieldName = /^(?:user)?(?:name|password|passwd|pass|secret|token)$/i;
const placeholder =
  /your|example|placeholder|change-?me|xxxx|\*\*\*|insert|redacted|dummy|sample|<|>|\$\{|\{\{|^(?:none|null|true|false|undefined)$/i;
const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

/** Shannon entropy of a text, in bits per UTF-16 unit. */
function computeEntropy(text: string): number {
  const counts = new Map<string, number>();
  for (const unit of text) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Last words of the labels. Looking them up is a cheap check that rules out nearly every word of a text. */
const labelEndings = new Set(
  "is was to ist are key keys apikey token secret authorization auth bearer credential credentials sharedaccesskey password passwd passphrase passwort pwd passcode contraseña passe kennwort pass".split(
    " ",
  ),
);
const filling = unitSet(" \t\"'`");
const assigning = unitSet(":=>");
const maxEnding = 15;

function mayFollow(text: CandidateWindow, start: number): boolean {
  let end = start;
  while (start - end < 4 && filling[text.at(end - 1)] === 1) end--;
  if (assigning[text.at(end - 1)] === 1) return true;
  let begin = end;
  while (end - begin <= maxEnding && letters[text.at(begin - 1)] === 1) begin--;
  return end - begin > 1 && labelEndings.has(text.slice(begin, end).toLowerCase());
}

/** End of the value at this place, if the label in front calls it a secret; else undefined. */
export function assignedSecretEnd(text: CandidateWindow, start: number): number | undefined {
  if (!mayFollow(text, start)) return undefined;
  const label = labelBefore(text, start);
  if (beforeLogin.test(label)) return loginAt(text, start);
  return (
    (beforeToken.test(label) ? tokenAt(text, start) : undefined) ??
    (beforePassword.test(label) ? passwordAt(text, start) : undefined)
  );
}

function tokenAt(text: CandidateWindow, start: number): number | undefined {
  let end = text.run(start, token, maxToken);
  while (end > start && text.at(end - 1) === 0x2e) end--;
  const value = text.slice(start, end);
  if (value.length < minToken || placeholder.test(value) || uuid.test(value)) return undefined;
  if (!/\d/.test(value) || !/[a-z]/i.test(value) || /^[./~]/.test(value)) return undefined;
  return computeEntropy(value) >= minEntropy ? end : undefined;
}

/** End of a password: eight or more units of at least three of the four kinds of characters, unlike any word of a sentence. */
function passwordAt(text: CandidateWindow, start: number): number | undefined {
  if (filling[text.at(start)] === 1) return undefined;
  let end = text.run(start, printable, 64);
  while (end > start && /["'`,;.)\]}]/.test(text.slice(end - 1, end))) end--;
  const value = text.slice(start, end);
  if (value.length < 8 || placeholder.test(value) || /[()[\]/\\]/.test(value)) return undefined;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z\d]/].filter((kind) => kind.test(value)).length;
  return kinds >= 3 ? end : undefined;
}

function loginAt(text: CandidateWindow, start: number): number | undefined {
  const end = text.run(start, printable, maxToken);
  const at = text.slice(start, end).indexOf("@");
  const value = text.slice(start, start + at);
  return at < 4 || placeholder.test(value) || fieldName.test(value) || value.includes("/") ? undefined : start + at;
}
