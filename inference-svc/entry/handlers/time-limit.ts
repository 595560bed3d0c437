/** The time limit of a turn whose client sets none. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { ConfigFile } from "@sluice/proto/config/config-file.js";

/** The configuration file's time limits; read for each turn, because a reload replaces them. */
export interface TimeLimits {
  readonly file: Pick<ConfigFile, "limits">;
}

export const timeLimitMs = ({ file: { limits } }: TimeLimits, { stream }: RunTurnRequest): number =>
  stream ? limits.stream_ms : limits.turn_ms;

export const deadlineExceeded = (): Fault =>
  new Fault(FaultReason.DEADLINE_EXCEEDED, "", { origin: FaultOrigin.INFERENCE });

/** Abort reason of a turn's signal at its end. Preallocated: aborting without a reason builds a DOMException with a stack. */
export const turnEndedReason = new Error("turn over");
