/** What an earlier start of the process has left: calls that were begun, and of which nobody wrote down the end. */
import { readFileSync } from "node:fs";
import { readFrames } from "./frame.ts";
import { type Line, type Opened, callOf } from "./record.ts";
import type { Segment } from "./spool.ts";

/** A record that was not written to its end was acknowledged to nobody, and is passed over with what follows it in its file. */
export function unfinished(segments: readonly Segment[]): readonly Opened[] {
  const open = new Map<string, Opened>();
  for (const { path } of segments) {
    for (const record of readFrames(readFileSync(path), Number.POSITIVE_INFINITY).records) {
      const line = JSON.parse(record) as Line;
      if (line.kind === "open") open.set(callOf(line.record), line.record);
      else open.delete(callOf(line.record));
    }
  }
  return [...open.values()];
}
