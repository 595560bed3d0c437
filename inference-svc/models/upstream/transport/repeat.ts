/** Decides whether a failed call may be repeated, because nothing can have been billed, or because the provider's error is temporary. */
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** Error codes of a connection that broke before its first byte. */
const resets: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "ERR_CONNECTION_CLOSED"]);
/** Error code of a refused connection; a server that restarts refuses connections for a moment. */
const refused = "ECONNREFUSED";
const passing: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Facts about a failed exchange. */
interface Failed {
  /** Whether the request may have reached the provider. */
  readonly sent: boolean;
  /** HTTP status of the answer; 0 without an answer. */
  readonly status: number;
}

export function findRepeat({ sent, status }: Failed, failure: Fault): Fault["repeat"] {
  if (!sent) {
    const code = codeOf(failure);
    return resets.has(code) ? "now" : code === refused ? "later" : undefined;
  }
  // An overloaded provider is not called again at once.
  return passing.has(status) && failure.reason !== FaultReason.PROVIDER_OVERLOADED ? "later" : undefined;
}

function codeOf(failure: Fault): unknown {
  const outer = failure.cause as { cause?: { code?: unknown } } | undefined;
  return outer?.cause?.code;
}
