/** Detects secrets by the prefixes their issuers document. */
import { kindOfKey } from "@sluice/proto/lib/ids/key.js";
import type { CandidateWindow } from "../candidates.ts";
import { type UnitSet, unitSet, wordUnits } from "../unit-sets.ts";

interface IssuedForm {
  readonly prefix: string;
  /** Units allowed after the prefix; `min` and `max` limit their number. */
  readonly body: UnitSet;
  readonly min: number;
  readonly max: number;
  /** An additional check of the whole secret. */
  readonly check?: (secret: string) => boolean;
}

const alphanumeric = unitSet("a-z", "A-Z", "0-9");
const upper = unitSet("A-Z", "0-9");
const lowerHex = unitSet("0-9", "a-f");
const urlSafe = unitSet("a-z", "A-Z", "0-9", "_-");
const dotted = unitSet("a-z", "A-Z", "0-9", "._-");
const base64 = unitSet("a-z", "A-Z", "0-9", "+/=");

const issued = (prefix: string, body: UnitSet, min: number, max = min): IssuedForm => ({
  prefix,
  body,
  min,
  max,
});
const hasDigitAndLetter = (secret: string): boolean => /\d/.test(secret) && /[A-Za-z]/.test(secret);

const issuedForms: readonly IssuedForm[] = [
  // Keys of Sluice, recognized by their checksum.
  { ...issued("sk-sl-", alphanumeric, 49), check: (secret) => kindOfKey(secret) !== undefined },
  { ...issued("mk-sl-", alphanumeric, 49), check: (secret) => kindOfKey(secret) !== undefined },
  // Keys of cloud providers.
  issued("AKIA", upper, 16),
  issued("ASIA", upper, 16),
  issued("ABIA", upper, 16),
  issued("AIza", urlSafe, 35),
  { ...issued("ya29.", urlSafe, 20, 300), check: hasDigitAndLetter },
  issued("GOCSPX-", urlSafe, 28),
  issued("dop_v1_", lowerHex, 64),
  issued("hvs.", urlSafe, 24, 200),
  issued("LTAI", alphanumeric, 16, 24),
  // Tokens for version control, packages and images.
  issued("ghp_", alphanumeric, 36),
  issued("gho_", alphanumeric, 36),
  issued("ghu_", alphanumeric, 36),
  issued("ghs_", alphanumeric, 36),
  issued("ghr_", alphanumeric, 36, 76),
  issued("github_pat_", unitSet("a-z", "A-Z", "0-9", "_"), 60, 100),
  issued("glpat-", urlSafe, 20, 60),
  issued("npm_", alphanumeric, 36),
  issued("pypi-", urlSafe, 50, 250),
  issued("dckr_pat_", urlSafe, 27),
  // Keys of payment services.
  { ...issued("sk_live_", alphanumeric, 16, 120), check: hasDigitAndLetter },
  { ...issued("sk_test_", alphanumeric, 16, 120), check: hasDigitAndLetter },
  { ...issued("rk_live_", alphanumeric, 16, 120), check: hasDigitAndLetter },
  issued("whsec_", base64, 24, 80),
  issued("shpat_", unitSet("0-9", "a-f", "A-F"), 32),
  issued("sq0csp-", urlSafe, 43),
  // Keys of model providers.
  { ...issued("sk-ant-", urlSafe, 40, 160), check: hasDigitAndLetter },
  { ...issued("sk-proj-", urlSafe, 40, 220), check: hasDigitAndLetter },
  { ...issued("sk-or-v1-", lowerHex, 64), check: hasDigitAndLetter },
  { ...issued("sk-", alphanumeric, 32, 64), check: hasDigitAndLetter },
  issued("hf_", alphanumeric, 30, 40),
  { ...issued("gsk_", alphanumeric, 40, 60), check: hasDigitAndLetter },
  { ...issued("r8_", alphanumeric, 37), check: hasDigitAndLetter },
  // Tokens of chat and mail services.
  { ...issued("xoxb-", urlSafe, 20, 120), check: hasDigitAndLetter },
  { ...issued("xoxp-", urlSafe, 20, 120), check: hasDigitAndLetter },
  { ...issued("xoxa-", urlSafe, 20, 120), check: hasDigitAndLetter },
  { ...issued("xapp-", urlSafe, 20, 150), check: hasDigitAndLetter },
  { ...issued("SG.", dotted, 60, 80), check: (secret) => /^SG\.[\w-]{16,32}\.[\w-]{32,64}$/.test(secret) },
  { ...issued("key-", lowerHex, 32), check: hasDigitAndLetter },
];

const formsByFirstUnit = new Map<number, IssuedForm[]>();
for (const kind of issuedForms) {
  const first = kind.prefix.charCodeAt(0);
  formsByFirstUnit.set(first, [...(formsByFirstUnit.get(first) ?? []), kind]);
}

/** End of a secret with a known prefix that starts here; undefined when there is none. */
export function issuedSecretEnd(text: CandidateWindow, start: number): number | undefined {
  for (const kind of formsByFirstUnit.get(text.at(start)) ?? []) {
    const end = text.startsWith(start, kind.prefix) ? findEnd(text, start, kind) : undefined;
    if (end !== undefined) return end;
  }
  return undefined;
}

function findEnd(
  text: CandidateWindow,
  start: number,
  { prefix, body, min, max, check }: IssuedForm,
): number | undefined {
  const begin = start + prefix.length;
  let end = text.run(begin, body, max + 1);
  // A dot or dash at the end is punctuation of the sentence.
  while (end > begin && (text.at(end - 1) === 0x2e || text.at(end - 1) === 0x2d)) end--;
  if (end - begin < min || end - begin > max || wordUnits[text.at(end)] === 1) return undefined;
  return check === undefined || check(text.slice(start, end)) ? end : undefined;
}
