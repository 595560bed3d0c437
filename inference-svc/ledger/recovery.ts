/** Calls that an earlier start of the process began, and whose end was never written down. */
import { readFileSync } from "node:fs";
import { readFrames } from "./frame.ts";
import { type Noted, type Opened, callOf } from "./record.ts";
import type { Segment } from "./spool.ts";

export interface Unfinished {
  /** The line of its beginning. */
  readonly line: string;
  /** The charge for the call; absent when nothing was noted. */
  readonly noted?: Noted;
}

/**
 * The unfinished calls, by call. A line that was not written to its end was acknowledged to nobody, and is passed over with what follows it in its file.
 */
export function unfinished(segments: readonly Segment[]): ReadonlyMap<string, Unfinished> {
  const open = new Map<string, Unfinished>();
  for (const { path } of segments) {
    for (const record of readFrames(readFileSync(path), Number.POSITIVE_INFINITY).records) {
      const line = record.toString("utf8");
      const written = JSON.parse(line.slice(1)) as Opened & Noted;
      const call = callOf(written);
      const begun = open.get(call);
      if (line.startsWith("o")) open.set(call, { line });
      else if (line.startsWith("c")) open.delete(call);
      else if (begun) open.set(call, { line: begun.line, noted: notedIn(written) });
    }
  }
  return open;
}

const notedIn = ({ tokens, costUsd }: Noted): Noted => ({ tokens, ...(costUsd !== undefined && { costUsd }) });
