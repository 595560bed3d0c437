/** Decides whose failure a fault is, which decides what may be tried next and what counts against an endpoint. */
import { type Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";

/**
 * - `caller`: the request is at fault, so that another endpoint of the same model would refuse it alike.
 * - `credential`: the provider refused the key that was used, without reading the request.
 * - `gateway`: Sluice could not do its own part.
 * - `endpoint`: everything else; it counts against the endpoint.
 */
export type FaultOwner = "caller" | "credential" | "gateway" | "endpoint";

const callerReasons: ReadonlySet<FaultReason> = new Set([
  FaultReason.INVALID_REQUEST,
  FaultReason.INVALID_PROMPT,
  FaultReason.CONTEXT_LENGTH_EXCEEDED,
  FaultReason.CONTENT_POLICY,
  FaultReason.PAYLOAD_TOO_LARGE,
  FaultReason.UNPROCESSABLE,
  FaultReason.PAYMENT_REQUIRED,
  FaultReason.BUDGET_HELD,
  FaultReason.GUARDRAIL_BLOCKED,
]);

/** Statuses with which providers refuse a key: unknown, out of credit, forbidden, or used too often. */
const credentialStatuses: ReadonlySet<number> = new Set([401, 402, 403, 429]);

export function faultOwner(fault: Fault): FaultOwner {
  const { reason, attemptStatus } = fault;
  if (callerReasons.has(reason)) return "caller";
  if (reason === FaultReason.RATE_LIMITED) return "credential";
  if (reason === FaultReason.PROVIDER_FAILED && credentialStatuses.has(attemptStatus)) return "credential";
  return isGatewayUnavailable(fault) || reason === FaultReason.INTERNAL ? "gateway" : "endpoint";
}

/** The ledger or the budgets cannot be reached: no endpoint could be called, so that trying the next one is in vain. */
export const isGatewayUnavailable = ({ reason, origin }: Fault): boolean =>
  reason === FaultReason.UNAVAILABLE && origin !== FaultOrigin.UPSTREAM;

/** A budget has no room for the call, so that no provider was called. */
export const isBudgetRefusal = ({ reason }: Fault): boolean =>
  reason === FaultReason.PAYMENT_REQUIRED ||
  reason === FaultReason.BUDGET_HELD ||
  reason === FaultReason.GUARDRAIL_BLOCKED;
