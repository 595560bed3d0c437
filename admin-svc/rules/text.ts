/** Limits of text fields. Lengths are counted in Unicode code points, as Postgres counts them. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";

export const invalid = (field: string, problem: string): Fault =>
  new Fault(FaultReason.INVALID_REQUEST, `${field}: ${problem}`);

const loneSurrogate = /\p{Surrogate}/u;
/** All of Unicode's White_Space, and the byte order mark, which is as invisible. */
const surroundingSpace = /^[\p{White_Space}\uFEFF]|[\p{White_Space}\uFEFF]$/u;

/** What Postgres cannot store, or would store as something else. @throws Fault INVALID_REQUEST */
export function checkStorable(field: string, text: string): void {
  // Postgres would be handed U+FFFD instead, and two texts would become one.
  if (loneSurrogate.test(text)) throw invalid(field, "must be well-formed Unicode");
  if (text.includes("\0")) throw invalid(field, "must not contain NUL");
}

/** @throws Fault INVALID_REQUEST */
export function checkLength(field: string, text: string, max: number): void {
  if (text === "") throw invalid(field, "at least 1 character");
  // A code point takes at most two units: longer text need not be counted.
  if (text.length > 2 * max || Array.from(text).length > max) throw invalid(field, `at most ${max} characters`);
}

/** @throws Fault INVALID_REQUEST */
export function checkTrimmed(field: string, text: string): void {
  if (surroundingSpace.test(text)) throw invalid(field, "must not begin or end with white space");
}
