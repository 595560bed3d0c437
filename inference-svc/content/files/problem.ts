/** Errors when a file is read, and the faults made of them. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

/** A problem of the file itself. The message continues a sentence that begins with the file's path. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
}

/** A problem of Sluice: no reader process was free, or none could be started. */
export class FileReadUnavailable extends Error {
  override readonly name = "NotRead";
}

const retryMs = 1_000;

/** Converts an error of reading a file to a fault for the client; other errors are returned unchanged. */
export function fileFault(error: unknown, path: string): unknown {
  if (error instanceof FileProblem) return invalid(path, error.message);
  if (!(error instanceof FileReadUnavailable)) return error;
  return new Fault(FaultReason.UNAVAILABLE, `${path}: this service cannot read files at the moment`, {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: retryMs,
    cause: error,
  });
}
