/** Measures and checks texts; all lengths are in Unicode code points. */
import type { Problems } from "./problems.ts";
import { unitAt } from "../text/unit-at.ts";

/** Length in code points, as Postgres counts it. */
export function codePointLength(text: string): number {
  const last = text.length - 1;
  let { length } = text;
  for (let at = 0; at < last; at++) {
    if ((unitAt(text, at) & 0xfc00) === 0xd800 && (unitAt(text, at + 1) & 0xfc00) === 0xdc00) {
      length--;
      at++;
    }
  }
  return length;
}

/**
 * Whether a text exceeds a limit. Code points are counted only if necessary: there are at least half as many as UTF-16
 * units, and at most as many.
 */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || codePointLength(text) > limit;
}

/** Whether the text has no lone surrogate. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** Whether the text contains NUL, which Postgres cannot store. */
export const hasNul = (text: string): boolean => text.includes("\0");

/** White space as Unicode defines it, and two invisible characters that editors leave behind: U+200B and U+FEFF. */
const surroundingSpace = /^[\p{White_Space}\u200b\ufeff]|[\p{White_Space}\u200b\ufeff]$/u;

export const hasSurroundingSpace = (text: string): boolean => surroundingSpace.test(text);

/** Checks a text that is stored, searched or compared. */
export function checkIdentifier(path: string, text: string, limit: number, problems: Problems): void {
  if (isLongerThan(text, limit)) problems.add(path, `at most ${limit} characters`);
  if (hasNul(text)) problems.add(path, "must not contain NUL");
  if (!isWellFormed(text)) problems.add(path, "must be well-formed Unicode");
}

/** Checks a name or label, which must have at least one character. */
export function checkName(path: string, text: string, limit: number, problems: Problems): void {
  if (text === "") problems.add(path, "at least 1 character");
  checkIdentifier(path, text, limit, problems);
}

/** Checks the id of a registered end user. */
export function checkEndUser(path: string, user: string, problems: Problems): void {
  checkName(path, user, 512, problems);
  if (hasSurroundingSpace(user)) problems.add(path, "must not begin or end with white space");
}
