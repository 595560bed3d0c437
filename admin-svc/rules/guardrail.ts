/** What a guardrail may be made of. */
import { RE2JS, RE2JSException } from "re2js";
import { checkLength, checkStorable, invalid } from "./text.ts";

const maxFilters = 100;
const maxPatternLength = 100_000;
const maxLabelLength = 100;

const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Any other text names no guardrail, so the database is not asked. */
export const isGuardrailId = (id: string): boolean => form.test(id);

/** A rule as its author writes it. */
export interface BlockFilter {
  readonly pattern: string;
  /** Shown instead of the pattern. */
  readonly label?: string;
}

/** @throws Fault INVALID_REQUEST */
export function checkName(name: string): void {
  checkLength("name", name, 200);
  checkStorable("name", name);
}

/** @throws Fault INVALID_REQUEST */
export function checkFilters(filters: readonly BlockFilter[]): void {
  if (filters.length > maxFilters) throw invalid("content_filters", `at most ${maxFilters} elements`);
  for (const [index, { pattern, label }] of filters.entries()) {
    checkPattern(`content_filters[${index}].pattern`, pattern);
    if (label === undefined) continue;
    checkLength(`content_filters[${index}].label`, label, maxLabelLength);
    checkStorable(`content_filters[${index}].label`, label);
  }
}

/** What linear-time engines leave out, in the words of those who miss it. */
const unsupported: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, "look-around is not supported: patterns must match in linear time"],
  [/\\(?:[1-9]|k[<{'])/, "back-references are not supported: patterns must match in linear time"],
];

function checkPattern(field: string, pattern: string): void {
  checkLength(field, pattern, maxPatternLength);
  checkStorable(field, pattern);
  const compiled = compile(field, pattern);
  // Such a pattern is found in every text, and would block every request.
  if (matchesNothing(compiled)) throw invalid(field, "must not match the empty string");
}

function compile(field: string, pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const known = unsupported.find(([syntax]) => syntax.test(pattern));
    if (known) throw invalid(field, known[1]);
    if (error instanceof RE2JSException) throw invalid(field, `not a valid pattern: ${error.message}`);
    throw error;
  }
}

/** One neighbour of each kind that an assertion can ask for: none, line feed, word character, other. */
const neighbours = ["", "\n", "a", "0", " ", "\u2603"];
const surroundings = neighbours.flatMap((before) => neighbours.map((after) => before + after));

/** Whether some position between two characters is enough for a match. */
function matchesNothing(pattern: RE2JS): boolean {
  return surroundings.some((text) => {
    const matcher = pattern.matcher(text);
    while (matcher.find()) if (matcher.start() === matcher.end()) return true;
    return false;
  });
}
