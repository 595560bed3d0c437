/** Signed claims (RFC 7519): three parts in base64url, the first two of them JSON, with a dot between. */
import type { Window } from "../candidates.ts";
import { units, wordUnits } from "../units.ts";

const dot = 0x2e;
const dash = 0x2d;
const base64url = units("a-z", "A-Z", "0-9", "_-");
/** `{"` in base64. */
const json = "eyJ";
const shortestPart = 10;
const longestPart = 3_000;

/** End of the claims that start here. */
export function claimsAt(text: Window, start: number): number | undefined {
  if (!text.says(start, json)) return undefined;
  // Within a longer text of this kind nothing begins.
  const before = text.at(start - 1);
  if ((before === dot || before === dash) && wordUnits[text.at(start - 2)] === 1) return undefined;
  const head = partAt(text, start);
  if (head === undefined || text.at(head) !== dot || !text.says(head + 1, json)) return undefined;
  const body = partAt(text, head + 1);
  return body === undefined || text.at(body) !== dot ? undefined : partAt(text, body + 1);
}

function partAt(text: Window, start: number): number | undefined {
  const end = text.run(start, base64url, longestPart);
  return end - start < shortestPart ? undefined : end;
}
