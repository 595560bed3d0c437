/** Whether a provider may be asked once more after a failure: where nothing can have been billed, or where it says that it will pass. */
import { type Fault, FaultReason } from "@sluice/proto/runtime/fault.js";

/** Of a connection that broke before it carried a byte. */
const resets: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
/** As while a server starts anew: it takes a moment. */
const refused = "ECONNREFUSED";
const passing: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** What is known of an exchange that failed. */
interface Failed {
  /** The request may have reached the provider. */
  readonly sent: boolean;
  /** Of the answer; 0 when there was none. */
  readonly status: number;
}

export function repeatOf({ sent, status }: Failed, failure: Fault): Fault["repeat"] {
  if (!sent) {
    const code = codeOf(failure);
    return resets.has(code) ? "now" : code === refused ? "later" : undefined;
  }
  // Who says that he has too much to do is not asked at once again.
  return passing.has(status) && failure.reason !== FaultReason.PROVIDER_OVERLOADED ? "later" : undefined;
}

function codeOf(failure: Fault): unknown {
  const outer = failure.cause as { cause?: { code?: unknown } } | undefined;
  return outer?.cause?.code;
}
