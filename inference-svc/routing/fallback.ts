/**
 * Tries one endpoint after the other until one has committed. Nothing of a failed attempt was given out, so nobody sees it; once an endpoint
 * has committed, its failure is the turn's.
 */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { throwIfAborted } from "../turn/abort.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import type { Batch, Turn } from "../turn/turn.ts";
import type { Endpoint } from "./catalog.ts";
import { collected, withStart } from "./collect.ts";
import { measured } from "./measured.ts";
import { fitted } from "./needs.ts";
import type { Router } from "./router.ts";

/** About what the caller sent: another endpoint of the same model would say the same. */
const callersOwn: ReadonlySet<FaultReason> = new Set([
  FaultReason.INVALID_REQUEST,
  FaultReason.INVALID_PROMPT,
  FaultReason.CONTEXT_LENGTH_EXCEEDED,
  FaultReason.CONTENT_POLICY,
  FaultReason.PAYLOAD_TOO_LARGE,
  FaultReason.UNPROCESSABLE,
]);

interface Failure {
  readonly provider: string;
  readonly fault: Fault;
}

/** @param turnOf asks one endpoint, once */
export const fallback =
  (router: Router, turnOf: (endpoint: Endpoint) => Turn, log: Pick<Logger, "warn">): Turn =>
  async (request, scope) => {
    const failures: Failure[] = [];
    const refusedBy = new Set<string>();
    const endpoints = router.route(request, scope);
    const ask = endpoints.length === 1 ? turnOf : (endpoint: Endpoint) => watched(endpoint, turnOf(endpoint), router);
    for (const [index, endpoint] of endpoints.entries()) {
      if (refusedBy.has(endpoint.model)) continue;
      throwIfAborted(scope.signal);
      try {
        const batches = await attempt(endpoint, ask(endpoint), request, scope);
        scope.trace.selected = index;
        return batches;
      } catch (error) {
        if (scope.signal.aborted) throw error;
        const fault = Fault.from(error);
        failures.push({ provider: endpoint.providerName, fault });
        log.warn(
          {
            request_id: scope.requestId,
            provider: endpoint.provider,
            model: endpoint.model,
            status: fault.attemptStatus,
            err: fault.cause,
          },
          "attempt failed",
        );
        if (callersOwn.has(fault.reason)) refusedBy.add(endpoint.model);
      }
    }
    throw summary(failures);
  };

/** One attempt whose outcome will count when endpoints are put in order. */
const watched =
  (endpoint: Endpoint, turn: Turn, { records }: Router): Turn =>
  async (request, scope) => {
    const record = records.of(endpoint);
    const startedAt = records.now();
    try {
      const batches = await turn(request, scope);
      record.attempt(true, records.now());
      return request.stream ? measured(batches, record, records, startedAt, scope) : batches;
    } catch (error) {
      // What is the caller's own says nothing about the endpoint.
      if (!scope.signal.aborted) record.attempt(callersOwn.has(Fault.from(error).reason), records.now());
      throw error;
    }
  };

async function attempt(
  endpoint: Endpoint,
  turn: Turn,
  request: TurnRequest,
  scope: Scope,
): Promise<AsyncIterable<Batch>> {
  const note = (status: number) =>
    scope.trace.attempts.push({ provider: endpoint.providerName, model: endpoint.model, status });
  scope.trace.losses = [];
  try {
    const batches = await turn(fitted(request, endpoint, scope.trace.losses), scope);
    const answer = request.stream
      ? withStart(endpoint.model, scope.trace.bodies, batches)
      : await collected(endpoint.model, batches);
    note(200);
    return answer;
  } catch (error) {
    note(Fault.from(error).attemptStatus);
    throw error;
  }
}

/** What is left to say when all have failed: the last word, with those before it in short. */
function summary(failures: readonly Failure[]): Fault {
  const last = failures.at(-1)?.fault ?? new Fault(FaultReason.NO_ENDPOINTS);
  if (last.reason === FaultReason.INTERNAL) return last;
  const hints = failures.map(({ fault }) => fault.retryAfterMs).filter((hintMs) => hintMs > 0);
  const limited = failures.every(({ fault }) => fault.reason === FaultReason.RATE_LIMITED);
  const unsaid = last.reason === FaultReason.PROVIDER_OVERLOADED && last.retryAfterMs === 0;
  return last.with({
    ...(limited && hints.length > 0 && { retryAfterMs: Math.min(...hints) }),
    ...(unsaid && { retryAfterMs: overloadedMs() }),
    metadata: {
      error_type: last.errorType,
      ...last.metadata,
      ...(failures.length > 1 && { previous_errors: failures.slice(0, -1).map(slim) }),
    },
  });
}

/** Apart from each other, so that those who were turned away together do not come back together. */
const overloadedMs = (): number => 5_000 + Math.random() * 25_000;

const slim = ({ provider, fault }: Failure) => ({ provider, code: fault.errorType, status: fault.attemptStatus });
