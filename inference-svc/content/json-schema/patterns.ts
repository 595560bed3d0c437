/** Compiles patterns of a schema for the guardrails' engine, which runs any pattern of a client in time linear in the text. */
import { type Finder, pieceLengthOf } from "@sluice/proto/lib/pattern/finder.js";
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { PatternError } from "@sluice/proto/lib/pattern/refusal.js";
import type { Yielding } from "../../turn/time-slice.ts";

/** @returns undefined for patterns the engine cannot run, and for patterns matching every text */
export function compileFinder(pattern: string): Finder | undefined {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
}

export function* containsMatch(finder: Finder, text: string): Yielding<boolean> {
  const scan = finder.open();
  const length = pieceLengthOf(finder);
  for (let at = 0; at < text.length; at += length) {
    if (scan.push(text.slice(at, at + length)).spans.length > 0) return true;
    yield;
  }
  return scan.end().spans.length > 0;
}
