/** Keys, tokens and passwords. */
import { type Window, finderOf } from "../candidates.ts";
import type { Detector } from "../detector.ts";
import { units, wordUnits } from "../units.ts";
import { assignedAt } from "./assigned.ts";
import { claimsAt } from "./claims.ts";
import { issuedAt } from "./issued.ts";
import { longestPrivateKey, privateKeyAt } from "./private-key.ts";

const dash = 0x2d;

function match(text: Window, start: number): number | undefined {
  if (text.at(start) === dash) return privateKeyAt(text, start);
  return issuedAt(text, start) ?? claimsAt(text, start) ?? assignedAt(text, start);
}

export const secrets: Detector = {
  slug: "secrets",
  engine: "format",
  finder: finderOf({
    behind: 64,
    ahead: longestPrivateKey + 64,
    first: units("!-~"),
    notAfter: wordUnits,
    match,
  }),
};
