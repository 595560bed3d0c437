/** The answer where a guardrail could not look: nobody gets what was not looked at. Not a hit, so that an outage is not taken for one. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";

/** A service that did not answer may do so soon. */
export const serviceRetryMs = 1_000;

/** @param retryAfterMs when it may be able to again; absent where it will not be by itself */
export const notApplicable = (cause: unknown, retryAfterMs?: number): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "The key's guardrail cannot be applied", {
    origin: FaultOrigin.INFERENCE,
    ...(retryAfterMs === undefined ? { shouldRetry: false } : { retryAfterMs }),
    cause,
  });
