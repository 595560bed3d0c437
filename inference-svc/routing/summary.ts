/** What is left to say when all have failed: the last word, with those before it in short. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { unansweredCause } from "../turn/unanswered.ts";
import type { Endpoint } from "./catalog.ts";
import type { Walk } from "./walk.ts";

/** The last failure of an endpoint. */
export interface Failure {
  readonly endpoint: Endpoint;
  readonly fault: Fault;
}

const leastMs = 1_000;

export function summary(failures: readonly Failure[], walk: Walk): Fault {
  const failure = failures.at(-1);
  const last = failure?.fault ?? unasked(walk);
  if (last.reason === FaultReason.INTERNAL) return last;
  const metadata = {
    error_type: last.errorType,
    ...last.metadata,
    ...(failure && isProviders(last) && answerOf(failure)),
    ...(failures.length > 1 && { previous_errors: failures.slice(0, -1).map(slim) }),
  };
  return inState(last, walk).with({ metadata }, failure ? messageOf(failure) : last.message);
}

function answerOf({ endpoint: { provider }, fault }: Failure): object {
  const error = unansweredCause(fault);
  return {
    provider_name: provider,
    provider_status: fault.providerStatus ?? null,
    ...(error && { provider_error: error }),
  };
}

/** The provider failed or refused: what it is and what it answered helps an operator, and says nothing about the request. */
const isProviders = ({ reason, origin }: Fault): boolean =>
  origin === FaultOrigin.UPSTREAM && (reason === FaultReason.PROVIDER_FAILED || reason === FaultReason.NO_ENDPOINTS);

/** The provider's own words stay here: they may quote the prompt or name what only the operator should know. */
function messageOf({ endpoint: { provider, model }, fault }: Failure): string {
  const { reason, origin, providerStatus, message } = fault;
  if (reason !== FaultReason.NO_ENDPOINTS || origin !== FaultOrigin.UPSTREAM) return message;
  const status = providerStatus === undefined ? "" : ` (it answered ${providerStatus})`;
  return `Provider ${provider} does not serve ${model} under the name that it is configured with${status}`;
}

/** Nobody was asked, because everybody has said when to come back. */
const unasked = (walk: Walk): Fault =>
  new Fault(walk.limitedMs() === undefined ? FaultReason.NO_ENDPOINTS : FaultReason.RATE_LIMITED, "", {
    origin: FaultOrigin.UPSTREAM,
  });

/** With the hint that the state of the endpoints gives. */
function inState(last: Fault, walk: Walk): Fault {
  if (last.reason === FaultReason.RATE_LIMITED) {
    return last.with({ retryAfterMs: walk.limitedMs() ?? Math.max(leastMs, last.retryAfterMs) });
  }
  if (last.reason === FaultReason.PROVIDER_OVERLOADED && last.retryAfterMs === 0) {
    return last.with({ retryAfterMs: overloadedMs() });
  }
  return last;
}

/** Apart from each other, so that those who were turned away together do not come back together. */
const overloadedMs = (): number => 5_000 + Math.random() * 25_000;

function slim({ endpoint: { providerName: provider }, fault }: Failure): object {
  const error = unansweredCause(fault);
  return { provider, code: fault.errorType, status: fault.attemptStatus, ...(error && { error }) };
}
