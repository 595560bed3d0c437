/** Secrets that say what they are: the prefixes of those who issue them, from their documentation. */
import { kindOfKey } from "@sluice/proto/runtime/key.js";
import type { Window } from "../candidates.ts";
import { type Units, units, wordUnits } from "../units.ts";

interface Issued {
  readonly prefix: string;
  /** What follows the prefix, and how much of it. */
  readonly body: Units;
  readonly shortest: number;
  readonly longest: number;
  /** A further check of the whole. */
  readonly check?: (secret: string) => boolean;
}

const alphanumeric = units("a-z", "A-Z", "0-9");
const upper = units("A-Z", "0-9");
const lowerHex = units("0-9", "a-f");
const urlSafe = units("a-z", "A-Z", "0-9", "_-");
const dotted = units("a-z", "A-Z", "0-9", "._-");
const base64 = units("a-z", "A-Z", "0-9", "+/=");

const of = (prefix: string, body: Units, shortest: number, longest = shortest): Issued => ({
  prefix,
  body,
  shortest,
  longest,
});
const mixed = (secret: string): boolean => /\d/.test(secret) && /[A-Za-z]/.test(secret);

const kinds: readonly Issued[] = [
  // Our own keys carry a checksum.
  { ...of("sk-sl-", alphanumeric, 49), check: (secret) => kindOfKey(secret) !== undefined },
  { ...of("mk-sl-", alphanumeric, 49), check: (secret) => kindOfKey(secret) !== undefined },
  // Clouds.
  of("AKIA", upper, 16),
  of("ASIA", upper, 16),
  of("ABIA", upper, 16),
  of("AIza", urlSafe, 35),
  { ...of("ya29.", urlSafe, 20, 300), check: mixed },
  of("GOCSPX-", urlSafe, 28),
  of("dop_v1_", lowerHex, 64),
  of("hvs.", urlSafe, 24, 200),
  of("LTAI", alphanumeric, 16, 24),
  // Version control, packages, images.
  of("ghp_", alphanumeric, 36),
  of("gho_", alphanumeric, 36),
  of("ghu_", alphanumeric, 36),
  of("ghs_", alphanumeric, 36),
  of("ghr_", alphanumeric, 36, 76),
  of("github_pat_", units("a-z", "A-Z", "0-9", "_"), 60, 100),
  of("glpat-", urlSafe, 20, 60),
  of("npm_", alphanumeric, 36),
  of("pypi-", urlSafe, 50, 250),
  of("dckr_pat_", urlSafe, 27),
  // Payment.
  { ...of("sk_live_", alphanumeric, 16, 120), check: mixed },
  { ...of("sk_test_", alphanumeric, 16, 120), check: mixed },
  { ...of("rk_live_", alphanumeric, 16, 120), check: mixed },
  of("whsec_", base64, 24, 80),
  of("shpat_", units("0-9", "a-f", "A-F"), 32),
  of("sq0csp-", urlSafe, 43),
  // Models.
  { ...of("sk-ant-", urlSafe, 40, 160), check: mixed },
  { ...of("sk-proj-", urlSafe, 40, 220), check: mixed },
  { ...of("sk-or-v1-", lowerHex, 64), check: mixed },
  { ...of("sk-", alphanumeric, 32, 64), check: mixed },
  of("hf_", alphanumeric, 30, 40),
  { ...of("gsk_", alphanumeric, 40, 60), check: mixed },
  { ...of("r8_", alphanumeric, 37), check: mixed },
  // Talk and mail.
  { ...of("xoxb-", urlSafe, 20, 120), check: mixed },
  { ...of("xoxp-", urlSafe, 20, 120), check: mixed },
  { ...of("xoxa-", urlSafe, 20, 120), check: mixed },
  { ...of("xapp-", urlSafe, 20, 150), check: mixed },
  { ...of("SG.", dotted, 60, 80), check: (secret) => /^SG\.[\w-]{16,32}\.[\w-]{32,64}$/.test(secret) },
  { ...of("key-", lowerHex, 32), check: mixed },
];

const byFirst = new Map<number, Issued[]>();
for (const kind of kinds) {
  const first = kind.prefix.charCodeAt(0);
  byFirst.set(first, [...(byFirst.get(first) ?? []), kind]);
}

/** End of an issued secret that starts here. */
export function issuedAt(text: Window, start: number): number | undefined {
  for (const kind of byFirst.get(text.at(start)) ?? []) {
    const end = text.says(start, kind.prefix) ? endOf(text, start, kind) : undefined;
    if (end !== undefined) return end;
  }
  return undefined;
}

function endOf(text: Window, start: number, { prefix, body, shortest, longest, check }: Issued): number | undefined {
  const begin = start + prefix.length;
  let end = text.run(begin, body, longest + 1);
  // The end of a sentence is none of a secret.
  while (end > begin && (text.at(end - 1) === 0x2e || text.at(end - 1) === 0x2d)) end--;
  if (end - begin < shortest || end - begin > longest || wordUnits[text.at(end)] === 1) return undefined;
  return check === undefined || check(text.slice(start, end)) ? end : undefined;
}
