/** Actions of a rule on matched text. */
import type { Action } from "./draft.ts";

export const actions: readonly (readonly [Action, string])[] = [
  ["flag", "Report"],
  ["redact", "Redact"],
  ["block", "Block"],
];
