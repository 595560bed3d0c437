/** Finds calls an earlier start of the process has begun and not ended. */
import { readFileSync } from "node:fs";
import { endOfLine, readFrame } from "@sluice/proto/lib/ledger/frame.js";
import { callNameIn, lineKind } from "@sluice/proto/lib/ledger/spool-line.js";
import { parseCharge } from "./line.ts";
import type { CallCharge } from "./record.ts";
import type { Segment } from "./spool.ts";

/**
 * The last recorded charges of unfinished calls, by the names of the calls; undefined for a call without one. A frame
 * that is not written to its end was not acknowledged; it is skipped with everything after it in its file.
 */
export function findUnfinishedCalls(segments: readonly Segment[]): ReadonlyMap<string, CallCharge | undefined> {
  const open = new Map<string, string | undefined>();
  for (const { path } of segments) {
    const bytes = readFileSync(path);
    for (let frame = readFrame(bytes, 0); typeof frame === "object"; frame = readFrame(bytes, frame.end)) {
      for (let at = frame.start; at < frame.end; at = endOfLine(bytes, at, frame.end) + 1) {
        follow(bytes, at, endOfLine(bytes, at, frame.end), open);
      }
    }
  }
  return new Map([...open].map(([call, charge]) => [call, charge === undefined ? undefined : parseCharge(charge)]));
}

/** Reads the lines of a frame. @param open lines with the last charges of unfinished calls, by call name */
function follow(bytes: Buffer, at: number, end: number, open: Map<string, string | undefined>): void {
  const kind = lineKind(bytes, at);
  if (kind === undefined || kind === "turn") return;
  const call = callNameIn(bytes, at);
  if (kind === "start") open.set(call, undefined);
  else if (kind !== "charge") open.delete(call);
  else if (open.has(call)) open.set(call, bytes.toString("latin1", at, end));
}
