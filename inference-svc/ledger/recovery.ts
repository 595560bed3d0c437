/** What an earlier start of the process has left: calls that were begun, and of which nobody wrote down the end. */
import { readFileSync } from "node:fs";
import { readFrames } from "./frame.ts";
import { type Opened, callOf } from "./record.ts";
import type { Segment } from "./spool.ts";

/**
 * The lines of their beginnings, by call. A line that was not written to its end was acknowledged to nobody, and is passed over with what
 * follows it in its file.
 */
export function unfinished(segments: readonly Segment[]): ReadonlyMap<string, string> {
  const open = new Map<string, string>();
  for (const { path } of segments) {
    for (const record of readFrames(readFileSync(path), Number.POSITIVE_INFINITY).records) {
      const line = record.toString("utf8");
      const call = callOf(JSON.parse(line.slice(1)) as Opened);
      if (line.startsWith("o")) open.set(call, line);
      else open.delete(call);
    }
  }
  return open;
}
