/** What is left to say when all have failed: the last word, with those before it in short. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Endpoint } from "./catalog.ts";
import type { Walk } from "./walk.ts";

/** The last failure of an endpoint. */
export interface Failure {
  readonly endpoint: Endpoint;
  readonly fault: Fault;
}

const leastMs = 1_000;

export function summary(failures: readonly Failure[], walk: Walk): Fault {
  const last = failures.at(-1)?.fault ?? unasked(walk);
  if (last.reason === FaultReason.INTERNAL) return last;
  return inState(last, walk).with({
    metadata: {
      error_type: last.errorType,
      ...last.metadata,
      ...(failures.length > 1 && { previous_errors: failures.slice(0, -1).map(slim) }),
    },
  });
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

const slim = ({ endpoint: { providerName: provider }, fault }: Failure) => ({
  provider,
  code: fault.errorType,
  status: fault.attemptStatus,
});
