/** Detects keys, tokens and passwords. */
import { type CandidateWindow, buildFinder } from "../candidates.ts";
import type { BuiltinDetector } from "../detector.ts";
import { unitSet, wordUnits } from "../unit-sets.ts";
import { assignedSecretEnd } from "./assigned.ts";
import { issuedSecretEnd } from "./issued.ts";

const dash = 0x2d;

const dot = 0x2e;
const base64url = unitSet("a-z", "A-Z", "0-9", "_-");
/** `{"` in base64, the start of every JSON Web Token. */
const encodedBrace = "eyJ";
const minPart = 10;
const maxPart = 3_000;

/** End of the JSON Web Token (RFC 7519) at this place: three base64url parts, of which the first two are JSON. */
function jwtAt(text: CandidateWindow, start: number): number | undefined {
  if (!text.startsWith(start, encodedBrace)) return undefined;
  // A token does not start within another token.
  const before = text.at(start - 1);
  if ((before === dot || before === dash) && wordUnits[text.at(start - 2)] === 1) return undefined;
  const head = partAt(text, start);
  if (head === undefined || text.at(head) !== dot || !text.startsWith(head + 1, encodedBrace)) return undefined;
  const body = partAt(text, head + 1);
  return body === undefined || text.at(body) !== dot ? undefined : partAt(text, body + 1);
}

function partAt(text: CandidateWindow, start: number): number | undefined {
  const end = text.run(start, base64url, maxPart);
  return end - start < minPart ? undefined : end;
}

/** Maximum UTF-16 units of a private key; RSA with 8,192 bits takes 6,400. */
const maxPrivateKey = 8_192;

const begin = "-----BEGIN ";
const kindUnits = unitSet("A-Z", "0-9", " ");
const maxKind = 40;
/** UTF-16 units of a key's body: base64, line ends, and the headers of encrypted keys. */
const bodyUnits = unitSet("a-z", "A-Z", "0-9", "+/=\\ \r\n\t:,");

/**
 * End of the PEM private key (RFC 7468) at this place, also within a JSON string. A key without an end marker ends
 * where its text stops looking like a key.
 */
function privateKeyAt(text: CandidateWindow, start: number): number | undefined {
  if (!text.startsWith(start, begin)) return undefined;
  const name = start + begin.length;
  const armour = text.run(name, kindUnits, maxKind);
  if (!text.startsWith(armour, "-----") || !/PRIVATE KEY(?: BLOCK)?$/.test(text.slice(name, armour))) return undefined;
  let end = armour + 5;
  for (;;) {
    end = text.run(end, bodyUnits, maxPrivateKey);
    if (text.startsWith(end, "-----END ")) return endOfArmour(text, end + 9);
    // A single dash occurs in headers such as DEK-Info, and does not end the key.
    if (text.at(end) !== 0x2d || text.at(end + 1) === 0x2d) return end;
    end++;
  }
}

function endOfArmour(text: CandidateWindow, name: number): number {
  const armour = text.run(name, kindUnits, maxKind);
  return text.startsWith(armour, "-----") ? armour + 5 : armour;
}

function match(text: CandidateWindow, start: number): number | undefined {
  if (text.at(start) === dash) return privateKeyAt(text, start);
  return issuedSecretEnd(text, start) ?? jwtAt(text, start) ?? assignedSecretEnd(text, start);
}

export const secrets: BuiltinDetector = {
  slug: "secrets",
  engine: "format",
  finder: buildFinder({
    behind: 64,
    ahead: maxPrivateKey + 64,
    first: unitSet("!-~"),
    notAfter: wordUnits,
    match,
  }),
};
