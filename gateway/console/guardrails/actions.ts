/** What a rule does with what it finds. */
import type { Action } from "./draft.ts";

export const actions: readonly (readonly [Action, string])[] = [
  ["flag", "Report"],
  ["redact", "Redact"],
  ["block", "Block"],
];
