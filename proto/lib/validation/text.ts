/** Measures and checks text; lengths are always in Unicode code points. */
import type { Problems } from "./problems.ts";
import { unitAt } from "../text/unit-at.ts";

/** Length in code points, as counted by Postgres. */
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

/** Counts code points only if necessary: their number is between half of the UTF-16 units and all of them. */
export function isLongerThan(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  return text.length > 2 * limit || codePointLength(text) > limit;
}

/** Whether every surrogate is part of a pair. */
export const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

/** Whether the text contains NUL, which Postgres cannot store. */
export const hasNul = (text: string): boolean => text.includes("\0");

/** White space as defined by Unicode, and two invisible characters left behind by editors: U+200B and U+FEFF. */
const surroundingSpace = /^[\p{White_Space}\u200b\ufeff]|[\p{White_Space}\u200b\ufeff]$/u;

export const hasSurroundingSpace = (text: string): boolean => surroundingSpace.test(text);

/** Checks a text used for storage, search or comparison. */
export function checkIdentifier(path: string, text: string, limit: number, problems: Problems): void {
  if (isLongerThan(text, limit)) problems.add(path, `at most ${limit} characters`);
  if (hasNul(text)) problems.add(path, "must not contain NUL");
  if (!isWellFormed(text)) problems.add(path, "must be well-formed Unicode");
}

/** Checks a name or label: an identifier of at least one character. */
export function checkName(path: string, text: string, limit: number, problems: Problems): void {
  if (text === "") problems.add(path, "at least 1 character");
  checkIdentifier(path, text, limit, problems);
}

/** Checks the id of a registered end user. */
export function checkEndUser(path: string, user: string, problems: Problems): void {
  checkName(path, user, 512, problems);
  if (hasSurroundingSpace(user)) problems.add(path, "must not begin or end with white space");
}
