/** Errors of reading a file. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

/** The file itself is at fault; the message completes its path. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

/** Sluice is at fault: no reader process was free, or none could be started. */
export class FileReadUnavailable extends Error {
  override readonly name = "NotRead";
}

const retryMs = 1_000;

/** Turns the errors of reading into the client's error; anything else stays as it is. */
export function fileFault(error: unknown, path: string): unknown {
  if (error instanceof FileProblem) return invalid(path, error.message);
  if (!(error instanceof FileReadUnavailable)) return error;
  return new Fault(FaultReason.UNAVAILABLE, `${path}: this service cannot read files at the moment`, {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: retryMs,
    cause: error,
  });
}
