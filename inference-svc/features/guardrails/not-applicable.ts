/** The fault for a guardrail that could not scan. It differs from a block: an outage must never look like a finding. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** @param retryAfterMs time after which a retry may succeed; absent when only an operator can help */
export const guardrailUnavailable = (cause: unknown, retryAfterMs?: number): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "The key's guardrail cannot be applied", {
    origin: FaultOrigin.INFERENCE,
    ...(retryAfterMs === undefined ? { shouldRetry: false } : { retryAfterMs }),
    cause,
  });
