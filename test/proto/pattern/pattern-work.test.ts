/** Work of patterns: refusals for too many simultaneous states, and the cost of the worst accepted ones. */
import { describe, expect, test } from "@jest/globals";
import { maxAliveStates } from "@sluice/proto/lib/pattern/alive.js";
import { type Finder, pieceLengthOf } from "@sluice/proto/lib/pattern/finder.js";
import { compilePattern, compileStoredPattern } from "@sluice/proto/lib/pattern/pattern.js";
import { Random } from "../../support/random.ts";

/** Characters a second, a fifth of the allowed number: under Jest a step takes five times as long. */
const units = 4_000;
const chance = new Random(1, 1);
const letters = Array.from({ length: units }, () => chance.pick(["a", "b"])).join("");
const repeated = (text: string): string => text.repeat(units / text.length);
const words = Array.from({ length: 1_900 }, () =>
  Array.from({ length: 7 }, () => String.fromCharCode(0x61 + chance.below(26))).join(""),
).join("|");

/** Patterns with their worst known texts, which keep most of their states alive. */
const accepted: readonly (readonly [pattern: string, text: string])[] = [
  ["[a-z]{1000}", repeated("a")],
  [`(?i)${"[a-z]".repeat(1_000)}`, repeated("a")],
  ["\\p{L}{1,500}\\p{N}{1,500}", repeated("a")],
  ["\\p{L}{1,500}\\p{N}{1,500}", repeated("a1")],
  ["(?:\\w+\\s){1,200}confidential", repeated("word ")],
  ["a[ab]{950}c", letters],
  ["(?:a[ab]{520}|b[ab]{521}a)c", letters],
  ["[ab]{1,500}a[ab]{1,5}c", letters],
  ["(?:[ab]+c?){1,170}d", letters],
  ["\\b(?:[ab]{1,50}\\b){1,8}c", letters],
  [`(?i)${words}`, letters],
];

/** Steps of a scan: between two pauses, and in all. */
function stepsOf(finder: Finder, text: string): { worst: number; all: number } {
  const { automaton } = finder;
  if (automaton === undefined) throw new Error("a pattern without operators");
  const scan = finder.open();
  const first = automaton.steps;
  let worst = 0;
  for (let at = 0; at < text.length; at += pieceLengthOf(finder)) {
    const before = automaton.steps;
    scan.push(text.slice(at, at + pieceLengthOf(finder)));
    worst = Math.max(worst, automaton.steps - before);
  }
  return { worst, all: automaton.steps - first };
}

/** A piece of text takes 50,000 steps at most, each of which follows a thread and finds its successors. */
const stepsPerPiece = 2 * 50_000;

describe("a pattern with many possible live states", () => {
  test.each(accepted)("%s takes short steps, and bounded time in all", (pattern, text) => {
    const before = process.cpuUsage();
    const { worst, all } = stepsOf(compilePattern(pattern), text);
    const { user } = process.cpuUsage(before);
    process.stdout.write(
      `${pattern.slice(0, 40)}: ${(user / 1_000).toFixed(0)} ms, ${worst} of ${all} steps at once\n`,
    );
    expect(worst).toBeLessThanOrEqual(stepsPerPiece);
    expect(all).toBeLessThanOrEqual(2 * units * maxAliveStates);
  });

  test.each([
    "[a-z]{3000}",
    ".{1051}",
    "a[ab]{1400}c",
    "(?:a|b){1000}c",
    "(?:\\w{1,4}\\s?){1,400}!",
    "((x{1,50}){1,50}){1,2}",
    "\\p{Script=Osage}{3000}",
    "\\u{10fffd}{1,3000}",
    "[^a]{1500}b{1500}[^a]{1500}",
  ])("%s is refused with the limit, and still runs in short steps where it is already stored", (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(`more than ${maxAliveStates} states alive at once`);
    expect(stepsOf(compileStoredPattern(pattern), letters.slice(0, 2_000)).worst).toBeLessThanOrEqual(stepsPerPiece);
  });
});
