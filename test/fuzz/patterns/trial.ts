/** One case: what is found piece by piece against what the native engine finds in the whole text. */
import type { Finder, Span } from "@sluice/proto/runtime/pattern/finder.js";
import { compilePattern } from "@sluice/proto/runtime/pattern/pattern.js";
import { PatternError } from "@sluice/proto/runtime/pattern/refusal.js";
import type { Case } from "./generate.ts";

/** Sums over all trials. */
export interface Tally {
  patterns: number;
  matches: number;
  pieces: number;
  /** UTF-16 units that stood undecided after a piece. */
  held: number;
}

/** @returns what is wrong; undefined when nothing is */
export function trial({ patterns, pieces }: Case, tally: Tally): string | undefined {
  const text = pieces.join("");
  let held: readonly number[] = pieces.map(() => 0);
  for (const pattern of patterns) {
    const finder = finderOf(pattern);
    if (typeof finder === "string") return finder;
    if (finder === undefined) continue;
    const expected = nativeMatches(pattern, text);
    const found = scanned(finder, pieces, expected);
    if (typeof found === "string") return `${JSON.stringify(pattern)}: ${found}`;
    held = held.map((length, index) => Math.max(length, found[index] as number));
    tally.patterns++;
    tally.matches += expected.length;
  }
  tally.pieces += pieces.length;
  tally.held += held.reduce((sum, length) => sum + length, 0);
  return undefined;
}

/** Undefined when it is rightly refused. */
function finderOf(pattern: string): Finder | string | undefined {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    if (!/empty/.test(error.message)) return `${JSON.stringify(pattern)}: ${error.message}`;
    return isFoundInNothing(pattern) ? undefined : `${JSON.stringify(pattern)}: never matches nothing`;
  }
}

function native(pattern: string): RegExp {
  const [leading = "", flags = ""] = /^\(\?([ims]+)\)/.exec(pattern) ?? [];
  return new RegExp(pattern.slice(leading.length), `gu${flags}`);
}

const nativeMatches = (pattern: string, text: string): readonly Span[] =>
  [...text.matchAll(native(pattern))].map(({ index, 0: match }) => ({ start: index, end: index + match.length }));

const neighbours = ["", "\n", "a", "\u017f", " "];

function isFoundInNothing(pattern: string): boolean {
  const expression = new RegExp(native(pattern).source, native(pattern).flags.replace("g", "y"));
  return neighbours.some((before) =>
    neighbours.some((after) => {
      // Only whether it may match nothing: what it prefers to that does not matter.
      expression.lastIndex = before.length;
      return emptyAt(expression, before + after);
    }),
  );
}

function emptyAt(expression: RegExp, text: string): boolean {
  const at = expression.lastIndex;
  const bounded = new RegExp(`(?=(?:${expression.source}))`, expression.flags);
  bounded.lastIndex = at;
  return bounded.test(text);
}

/** How much was held after every piece, or what is wrong. */
function scanned(finder: Finder, pieces: readonly string[], expected: readonly Span[]): readonly number[] | string {
  const scan = finder.open();
  const spans: Span[] = [];
  const held: number[] = [];
  let position = 0;
  let decided = 0;
  for (const piece of [...pieces, undefined]) {
    const found = piece === undefined ? scan.end() : scan.push(piece);
    position += piece?.length ?? 0;
    spans.push(...found.spans);
    if (found.decided < decided) return `decided fell from ${decided} to ${found.decided}`;
    ({ decided } = found);
    const early = expected.find(({ start }, index) => start < decided && index >= spans.length);
    if (early) return `${decided} is decided, and ${early.start}-${early.end} not told`;
    if (piece !== undefined) held.push(position - decided);
  }
  if (decided !== position) return `${decided} of ${position} decided at the end`;
  return JSON.stringify(spans) === JSON.stringify(expected)
    ? held
    : `found ${JSON.stringify(spans)} instead of ${JSON.stringify(expected)}`;
}
