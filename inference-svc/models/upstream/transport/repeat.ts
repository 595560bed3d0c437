/** Decides whether a failed call may be repeated: when nothing can have been billed, or when the provider's error is temporary. */
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** Errors of a connection broken before its first byte. */
const resets: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "ERR_CONNECTION_CLOSED"]);
/** A restarting server refuses connections for a moment. */
const refused = "ECONNREFUSED";
const passing: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** The state of a failed exchange. */
interface Failed {
  /** True when the request may have reached the provider. */
  readonly sent: boolean;
  /** Status of the answer; 0 without one. */
  readonly status: number;
}

export function findRepeat({ sent, status }: Failed, failure: Fault): Fault["repeat"] {
  if (!sent) {
    const code = codeOf(failure);
    return resets.has(code) ? "now" : code === refused ? "later" : undefined;
  }
  // An overloaded provider is not called again right away.
  return passing.has(status) && failure.reason !== FaultReason.PROVIDER_OVERLOADED ? "later" : undefined;
}

function codeOf(failure: Fault): unknown {
  const outer = failure.cause as { cause?: { code?: unknown } } | undefined;
  return outer?.cause?.code;
}
