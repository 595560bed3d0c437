/**
 * Tries one endpoint after the other until one has committed. Nothing of a failed attempt was given out, so nobody sees it; once an endpoint
 * has committed, its failure is the turn's.
 */
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { throwIfAborted } from "../turn/abort.ts";
import { pause } from "../turn/pause.ts";
import type { Scope } from "../turn/scope.ts";
import type { Patience, Turn } from "../turn/turn.ts";
import { unansweredCause } from "../turn/unanswered.ts";
import { attempt } from "./attempt.ts";
import { isBudgets, isOurs } from "./blame.ts";
import type { Endpoint } from "./catalog.ts";
import type { Router } from "./router.ts";
import { type Failure, summary } from "./summary.ts";
import { type Rest, Walk } from "./walk.ts";

/** What of the providers is needed here. */
export interface Asking {
  /** Asks one endpoint, once. */
  turn(endpoint: Endpoint, patience: Patience): Turn;
  /** Why it is not to be asked now; undefined when it may be. */
  rest(endpoint: Endpoint): Rest | undefined;
}

export const fallback =
  (router: Router, asking: Asking, log: Pick<Logger, "info" | "warn">): Turn =>
  async (request, scope) => {
    const { records } = router;
    const endpoints = scope.again ? router.again(request, scope) : router.route(request, scope);
    const walk = new Walk(endpoints, {
      records,
      rest: (endpoint) => asking.rest(endpoint),
      deadline: scope.deadline,
    });
    const failures: Failure[] = [];
    for (let step = walk.next(); step !== undefined; step = walk.next()) {
      const { endpoint, pauseMs, patience } = step;
      throwIfAborted(scope.signal);
      if (pauseMs > 0) await pause(pauseMs, scope.signal);
      const turn = asking.turn(endpoint, patience);
      try {
        const batches = await attempt(step, { turn, records, measure: endpoints.length > 1 }, request, scope);
        if (!scope.again || scope.again === "first") scope.trace.selected = endpoints.indexOf(endpoint);
        return batches;
      } catch (error) {
        if (scope.signal.aborted) throw error;
        const fault = Fault.from(error);
        if (isOurs(fault)) throw fault;
        // Of one that was asked twice the second failure is the one to tell; the receipt knows both.
        if (failures.at(-1)?.endpoint === endpoint) failures.pop();
        failures.push({ endpoint, fault });
        walk.failed(endpoint, fault);
        logFailure(log, scope, endpoint, fault);
        if (scope.again === "once") break;
      }
    }
    throw summary(failures, walk);
  };

/** A call that a budget has no room for is nobody's failure: no provider was asked. */
function logFailure(log: Pick<Logger, "info" | "warn">, { requestId }: Scope, endpoint: Endpoint, fault: Fault): void {
  const { provider, model } = endpoint;
  const { attemptStatus: status, cause: err } = fault;
  if (isBudgets(fault)) log.info({ request_id: requestId, model, status }, "call refused by a budget");
  else
    log.warn({ request_id: requestId, provider, model, status, error: unansweredCause(fault), err }, "attempt failed");
}
