/** Worker thread that compiles patterns: it receives a list of patterns and answers with the error of each pattern. */
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { PatternError } from "@sluice/proto/lib/pattern/refusal.js";
import { parentPort } from "node:worker_threads";

parentPort?.on("message", (patterns: readonly string[]) => parentPort?.postMessage(patterns.map(complaintAbout)));

function complaintAbout(pattern: string): string | null {
  try {
    compilePattern(pattern);
    return null;
  } catch (error) {
    if (error instanceof PatternError) return error.message;
    throw error;
  }
}
