/** Why the text of a file is not known. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";

/** The file itself is why: the message completes its path. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

/** The house is why: nobody was free to read it, or whoever should could not be started. */
export class NotRead extends Error {
  override readonly name = "NotRead";
}

const retryMs = 1_000;

/** As the client is told; anything else stays what it is. */
export function fileFault(error: unknown, path: string): unknown {
  if (error instanceof FileProblem) return invalid(path, error.message);
  if (!(error instanceof NotRead)) return error;
  return new Fault(FaultReason.UNAVAILABLE, `${path}: this service cannot read files at the moment`, {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: retryMs,
    cause: error,
  });
}
