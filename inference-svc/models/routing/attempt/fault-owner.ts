/** Decides which side caused a failure. This determines which endpoint is tried next, and whether the failure counts against the endpoint. */
import { type Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { isModelLimit } from "../../../turn/model-limits.ts";

/**
 * - `caller`: the request caused it, and another endpoint of the same model would refuse it as well.
 * - `credential`: the provider refused the operator's key, without reading the request.
 * - `gateway`: Sluice could not do its own part.
 * - `endpoint`: everything else, which counts against the endpoint.
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

/** HTTP statuses of a refused key: unknown, out of credit, forbidden, or used too often. */
const credentialStatuses: ReadonlySet<number> = new Set([401, 402, 403, 429]);

export function faultOwner(fault: Fault): FaultOwner {
  const { reason, attemptStatus } = fault;
  if (callerReasons.has(reason) || isModelLimit(fault)) return "caller";
  if (reason === FaultReason.RATE_LIMITED) return "credential";
  if (reason === FaultReason.PROVIDER_FAILED && credentialStatuses.has(attemptStatus)) return "credential";
  return isGatewayUnavailable(fault) || reason === FaultReason.INTERNAL ? "gateway" : "endpoint";
}

/** Whether the ledger or the budgets cannot be reached: no endpoint could be called, and trying another is useless. */
export const isGatewayUnavailable = ({ reason, origin }: Fault): boolean =>
  reason === FaultReason.UNAVAILABLE && origin !== FaultOrigin.UPSTREAM;

/** Whether a budget has no room for the call, so no provider was called. */
export const isBudgetRefusal = ({ reason }: Fault): boolean =>
  reason === FaultReason.PAYMENT_REQUIRED ||
  reason === FaultReason.BUDGET_HELD ||
  reason === FaultReason.GUARDRAIL_BLOCKED;

/** Whether a budget, a limit of a model or the ledger refused the call. This is no attempt, since no provider was called. */
export const isRefusedBeforeCall = (fault: Fault): boolean =>
  isBudgetRefusal(fault) || isModelLimit(fault) || isGatewayUnavailable(fault);
