/** What a guardrail may be made of. */
import { type Problems, checked } from "@sluice/proto/runtime/validation/problems.js";
import { checkName } from "@sluice/proto/runtime/validation/text.js";
import { RE2JS, RE2JSException } from "re2js";

/** Of a guardrail, and of a key. */
export const maxNameLength = 200;
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

/** @throws Fault INVALID_REQUEST with every problem */
export function checkGuardrail(name: string, filters: readonly BlockFilter[]): void {
  checked((problems) => {
    checkName("name", name, maxNameLength, problems);
    if (filters.length > maxFilters) return problems.add("content_filters", `at most ${maxFilters} elements`);
    for (const [index, { pattern, label }] of filters.entries()) {
      checkPattern(`content_filters.${index}.pattern`, pattern, problems);
      if (label !== undefined) checkName(`content_filters.${index}.label`, label, maxLabelLength, problems);
    }
  });
}

/** What linear-time engines leave out, in the words of those who miss it. */
const unsupported: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, "look-around is not supported: patterns must match in linear time"],
  [/\\(?:[1-9]|k[<{'])/, "back-references are not supported: patterns must match in linear time"],
];

function checkPattern(path: string, pattern: string, problems: Problems): void {
  checkName(path, pattern, maxPatternLength, problems);
  const compiled = compile(path, pattern, problems);
  // Such a pattern is found in every text, and would block every request.
  if (compiled && matchesNothing(compiled)) problems.add(path, "must not match the empty string");
}

function compile(path: string, pattern: string, problems: Problems): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const known = unsupported.find(([syntax]) => syntax.test(pattern));
    return problems.add(path, known?.[1] ?? `not a valid pattern: ${error.message}`);
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
