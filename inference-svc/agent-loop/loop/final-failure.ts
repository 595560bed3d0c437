/** Failures without a retry: the client already has output, or a tool had an effect. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isModelLimit } from "../../turn/model-limits.ts";
import type { TurnEvent } from "../../turn/turn.ts";
import type { Usage } from "../../turn/usage.ts";

/** Reasons that invite a client to retry; a turn with effects must not be retried. */
const passing: ReadonlySet<FaultReason> = new Set([
  FaultReason.RATE_LIMITED,
  FaultReason.PROVIDER_FAILED,
  FaultReason.PROVIDER_OVERLOADED,
  FaultReason.NO_ENDPOINTS,
]);

/** Converts a provider's failure to a fault marked as not retryable. */
export function toFinalFault(error: unknown): Fault {
  const fault = Fault.from(error);
  const { reason, origin, message, cause, attemptStatus } = fault;
  const isPassing =
    (passing.has(reason) && !isModelLimit(fault)) ||
    (reason === FaultReason.UNAVAILABLE && origin === FaultOrigin.UPSTREAM);
  if (!isPassing) return fault.with({ shouldRetry: false, retryAfterMs: 0 });
  const failed = new Fault(FaultReason.PROVIDER_FAILED, message, {
    origin: FaultOrigin.UPSTREAM,
    shouldRetry: false,
    providerStatus: attemptStatus,
    cause,
  });
  return failed.with({ metadata: { ...fault.metadata, error_type: failed.errorType } });
}

/** The end event of an answer blocked by a guardrail after partial delivery. @returns undefined for every other failure */
export function blockedEndEvent(error: unknown, usage: Usage | undefined): TurnEvent | undefined {
  const isRule = error instanceof Fault && error.reason === FaultReason.GUARDRAIL_BLOCKED;
  if (!isRule || error.metadata?.["patterns"] === undefined) return undefined;
  const outcome = { status: "incomplete", reason: "content_filter", serviceTier: "default" } as const;
  return { type: "end", outcome: { ...outcome, ...(usage && { usage }) } };
}
