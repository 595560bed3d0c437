import type { Find } from "./quality.ts";

/** Patterns as teams write them for themselves: only the form, without a checksum or context. */
export const baselines: Readonly<Record<string, RegExp>> = {
  "credit-card": /\b(?:\d[ -]?){12,18}\d\b/g,
  ssn: /\b\d{3}[- ]?\d{2}[- ]?\d{4}\b/g,
  "ip-address": /\b(?:\d{1,3}\.){3}\d{1,3}\b|(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}/gi,
};

/** Finds the matches of a bare pattern. */
export const bareFind =
  (pattern: RegExp): Find =>
  (text) =>
    [...text.matchAll(pattern)].map((found) => ({ start: found.index, end: found.index + found[0].length }));
