/** What a pattern may be. */
import { RE2JS, RE2JSException } from "re2js";

/** What linear-time engines leave out, in the words of those who miss it. */
const unsupported: readonly (readonly [RegExp, string])[] = [
  [/\(\?<?[=!]/, "look-around is not supported: patterns must match in linear time"],
  [/\\(?:[1-9]|k[<{'])/, "back-references are not supported: patterns must match in linear time"],
];

/** What is wrong with a pattern; null when nothing is. Long ones take seconds of a processor. */
export function complaintAbout(pattern: string): string | null {
  try {
    // Such a pattern is found in every text, and would block every request.
    return matchesNothing(RE2JS.compile(pattern)) ? "must not match the empty string" : null;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const known = unsupported.find(([syntax]) => syntax.test(pattern));
    return known?.[1] ?? `not a valid pattern: ${error.message}`;
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
