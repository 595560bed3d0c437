/** What is wrong with patterns, each on its own. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { compilePattern } from "@sluice/proto/runtime/pattern/pattern.js";
import { PatternError } from "@sluice/proto/runtime/pattern/refusal.js";

/** Null where nothing is. Others get their turn after each: one takes up to twenty milliseconds, and there may be a hundred. */
export async function complaintsAbout(patterns: readonly string[]): Promise<readonly (string | null)[]> {
  const complaints: (string | null)[] = [];
  for (const pattern of patterns) {
    complaints.push(complaintAbout(pattern));
    await nextTurn();
  }
  return complaints;
}

function complaintAbout(pattern: string): string | null {
  try {
    compilePattern(pattern);
    return null;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}
