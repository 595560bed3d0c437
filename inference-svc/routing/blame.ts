/** Whose failure it was: the caller's, the house's at the provider, or the endpoint's. */
import { type Fault, FaultReason } from "@sluice/proto/runtime/fault.js";

const callersOwn: ReadonlySet<FaultReason> = new Set([
  FaultReason.INVALID_REQUEST,
  FaultReason.INVALID_PROMPT,
  FaultReason.CONTEXT_LENGTH_EXCEEDED,
  FaultReason.CONTENT_POLICY,
  FaultReason.PAYLOAD_TOO_LARGE,
  FaultReason.UNPROCESSABLE,
]);

/** About what the caller sent: another endpoint of the same model would say the same. */
export const isCallers = ({ reason }: Fault): boolean => callersOwn.has(reason);

const credentialStatuses: ReadonlySet<number> = new Set([401, 402, 403, 429]);

/** About the key that it was asked with: it has asked too often, is unknown, or has nothing left. The request was not looked at. */
export const isKeys = ({ reason, attemptStatus }: Fault): boolean =>
  reason === FaultReason.RATE_LIMITED ||
  (reason === FaultReason.PROVIDER_FAILED && credentialStatuses.has(attemptStatus));

/** It counts against the endpoint. */
export const isEndpoints = (fault: Fault): boolean =>
  !isCallers(fault) && !isKeys(fault) && fault.reason !== FaultReason.INTERNAL;
