/** Decides which side is at fault; this determines what to try next and whether the failure counts against an endpoint. */
import { type Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isModelLimit } from "../../../turn/model-limits.ts";

/**
 * - `caller`: the request is at fault: another endpoint of the same model would refuse it alike.
 * - `credential`: the provider refused the operator's key, without reading the request.
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

/** Statuses for a refused key: unknown, out of credit, forbidden, or used too often. */
const credentialStatuses: ReadonlySet<number> = new Set([401, 402, 403, 429]);

export function faultOwner(fault: Fault): FaultOwner {
  const { reason, attemptStatus } = fault;
  if (callerReasons.has(reason) || isModelLimit(fault)) return "caller";
  if (reason === FaultReason.RATE_LIMITED) return "credential";
  if (reason === FaultReason.PROVIDER_FAILED && credentialStatuses.has(attemptStatus)) return "credential";
  return isGatewayUnavailable(fault) || reason === FaultReason.INTERNAL ? "gateway" : "endpoint";
}

/** The ledger or the budgets cannot be reached: no endpoint could be called, and trying the next is useless. */
export const isGatewayUnavailable = ({ reason, origin }: Fault): boolean =>
  reason === FaultReason.UNAVAILABLE && origin !== FaultOrigin.UPSTREAM;

/** A budget has no room for the call; no provider was called. */
export const isBudgetRefusal = ({ reason }: Fault): boolean =>
  reason === FaultReason.PAYMENT_REQUIRED ||
  reason === FaultReason.BUDGET_HELD ||
  reason === FaultReason.GUARDRAIL_BLOCKED;

/** A refusal by a budget, a limit of models or the ledger is no attempt: no provider was called. */
export const isRefusedBeforeCall = (fault: Fault): boolean =>
  isBudgetRefusal(fault) || isModelLimit(fault) || isGatewayUnavailable(fault);
