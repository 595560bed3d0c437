/** The configured time limit of a turn, for clients that set none. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { ConfigFile } from "@sluice/proto/config/config-file.js";

/** The configured time limits, which are read for each turn because a reload replaces them. */
export interface TimeLimits {
  readonly file: Pick<ConfigFile, "limits">;
}

export const timeLimitMs = ({ file: { limits } }: TimeLimits, { stream }: RunTurnRequest): number =>
  stream ? limits.stream_ms : limits.turn_ms;

export const deadlineExceeded = (): Fault =>
  new Fault(FaultReason.DEADLINE_EXCEEDED, "", { origin: FaultOrigin.INFERENCE });

/**
 * Reason with which the signal of a turn is aborted when the turn ends. Preallocated: aborting without a reason builds
 * a DOMException with a stack.
 */
export const turnEndedReason = new Error("turn over");
