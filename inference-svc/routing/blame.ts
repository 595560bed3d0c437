/** Whose failure it was: the caller's, the house's at the provider, or the endpoint's. */
import { type Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";

const callersOwn: ReadonlySet<FaultReason> = new Set([
  FaultReason.INVALID_REQUEST,
  FaultReason.INVALID_PROMPT,
  FaultReason.CONTEXT_LENGTH_EXCEEDED,
  FaultReason.CONTENT_POLICY,
  FaultReason.PAYLOAD_TOO_LARGE,
  FaultReason.UNPROCESSABLE,
  FaultReason.PAYMENT_REQUIRED,
  FaultReason.GUARDRAIL_BLOCKED,
]);

/** About what the caller sent: another endpoint of the same model would say the same. */
export const isCallers = ({ reason }: Fault): boolean => callersOwn.has(reason);

const credentialStatuses: ReadonlySet<number> = new Set([401, 402, 403, 429]);

/** About the key that it was asked with: it has asked too often, is unknown, or has nothing left. The request was not looked at. */
export const isKeys = ({ reason, attemptStatus }: Fault): boolean =>
  reason === FaultReason.RATE_LIMITED ||
  (reason === FaultReason.PROVIDER_FAILED && credentialStatuses.has(attemptStatus));

/** We could not do our own part: the next endpoint would not go better. */
export const isOurs = ({ reason, origin }: Fault): boolean =>
  reason === FaultReason.UNAVAILABLE && origin !== FaultOrigin.UPSTREAM;

/** A budget has no room for the call, so that no provider was asked. */
export const isBudgets = ({ reason }: Fault): boolean =>
  reason === FaultReason.PAYMENT_REQUIRED || reason === FaultReason.GUARDRAIL_BLOCKED;

/** It counts against the endpoint. */
export const isEndpoints = (fault: Fault): boolean =>
  !isCallers(fault) && !isKeys(fault) && !isOurs(fault) && fault.reason !== FaultReason.INTERNAL;
