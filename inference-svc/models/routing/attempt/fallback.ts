/**
 * Tries the endpoints one after the other until one has committed. Nothing of a failed attempt was delivered, so the
 * client sees none of it; after the commit point, a failure of the endpoint is a failure of the turn.
 */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { throwIfAborted, waitUnlessAborted } from "../../../turn/abort.ts";
import { isModelLimit } from "../../../turn/model-limits.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { TurnSignal } from "../../../turn/signal.ts";
import { Answer, type NextBatch, type Turn } from "../../../turn/turn.ts";
import { unansweredKind } from "../../../turn/provider-error.ts";
import { attemptEndpoint } from "./attempt.ts";
import { isBudgetRefusal, isGatewayUnavailable } from "./fault-owner.ts";
import type { Endpoint } from "../catalog.ts";
import type { Router } from "../choose/router.ts";
import { type EndpointFailure, summarizeFailures } from "./failure-summary.ts";
import { AttemptSchedule, type ScheduledAttempt } from "./schedule.ts";

/** Finds the turn that calls an endpoint once, within the deadline of the attempt in its scope. */
type FindAttempt = (endpoint: Endpoint) => Turn;

type FallbackLog = Pick<Logger, "info" | "warn">;

export const fallback =
  (router: Router, attempt: FindAttempt, log: FallbackLog): Turn =>
  (request, scope) =>
    new FallbackAnswer(request, { router, attempt, log, scope });

interface FallbackParts {
  readonly router: Router;
  readonly attempt: FindAttempt;
  readonly log: FallbackLog;
  readonly scope: Scope;
}

/** State of the search for an endpoint that answers. */
interface Search {
  readonly request: TurnRequest;
  readonly schedule: AttemptSchedule;
  readonly failures: EndpointFailure[];
}

class FallbackAnswer extends Answer {
  readonly #parts: FallbackParts;
  readonly #endpoints: readonly Endpoint[];
  /**
   * The search; undefined once an endpoint has committed, to free its memory: no other endpoint is called then, and the
   * answer may go on for minutes.
   */
  #search: Search | undefined;
  /** The running attempt, or the one that is paused before it begins; undefined before the first attempt, and after a failure. */
  #step: ScheduledAttempt | undefined;
  #answer: Answer | undefined;
  #pause: "none" | "running" | "over" = "none";
  #wake = () => {};

  constructor(request: TurnRequest, parts: FallbackParts) {
    super();
    const { router, scope } = parts;
    this.#parts = parts;
    this.#endpoints = scope.again ? router.routeAgain(request, scope) : router.route(request, scope);
    const schedule = new AttemptSchedule(this.#endpoints, {
      records: router.records,
      cooldown: router.cooldown,
      deadline: scope.deadline,
    });
    this.#search = { request, schedule, failures: [] };
  }

  override next(wake: () => void): NextBatch {
    const search = this.#search;
    return search ? this.#find(search, wake) : (this.#answer as Answer).next(wake);
  }

  /** Tries endpoints until one has committed. @throws the failures when none has */
  #find(search: Search, wake: () => void): NextBatch {
    for (;;) {
      this.#step ??= search.schedule.next() ?? giveUp(search);
      try {
        this.#answer ??= this.#begin(this.#step, search.request);
        // The end of the pause wakes the consumer.
        if (this.#answer === undefined) this.#wake = wake;
        const next = this.#answer?.next(wake) ?? "pending";
        if (next === "pending") return next;
        const { router, scope } = this.#parts;
        this.#search = undefined;
        router.committed(scope);
        if (!scope.again || scope.again === "first")
          scope.trace.selected = this.#endpoints.indexOf(this.#step.endpoint);
        return next;
      } catch (error) {
        this.#failed(search, this.#step, error);
      }
    }
  }

  override close(): Promise<void> | undefined {
    return this.#answer?.close();
  }

  /** Begins an attempt. @returns undefined while it waits for the end of its pause */
  #begin(step: ScheduledAttempt, request: TurnRequest): Answer | undefined {
    const { attempt, router, scope } = this.#parts;
    throwIfAborted(scope.signal);
    if (step.pauseMs > 0 && this.#pause !== "over") {
      if (this.#pause === "none") this.#beginPause(step.pauseMs, scope.signal);
      return undefined;
    }
    const deps = {
      turn: attempt(step.endpoint),
      records: router.records,
      measure: this.#endpoints.length > 1,
    };
    const within = step.deadline === scope.attempt ? scope : scope.with({ attempt: step.deadline });
    return attemptEndpoint(step, deps, request, within);
  }

  /** Begins a pause. An abort also ends it: the attempt then fails as it begins. */
  #beginPause(pauseMs: number, signal: TurnSignal): void {
    this.#pause = "running";
    const over = () => {
      this.#pause = "over";
      this.#wake();
    };
    waitUnlessAborted(pauseMs, signal).then(over, over);
  }

  /** Notes a failed attempt. @throws the failure when no other endpoint is tried after it */
  #failed(search: Search, { endpoint }: ScheduledAttempt, error: unknown): void {
    const { log, scope } = this.#parts;
    const { failures, schedule } = search;
    this.#step = undefined;
    this.#answer = undefined;
    this.#pause = "none";
    if (scope.signal.aborted) throw error;
    const fault = Fault.from(error);
    if (isGatewayUnavailable(fault)) throw fault;
    // After two failures of one endpoint, only the second is reported to the client; the receipt lists both.
    if (failures.at(-1)?.endpoint === endpoint) failures.pop();
    failures.push({ endpoint, fault });
    schedule.failed(endpoint, fault);
    logFailure(log, scope, endpoint, fault);
    if (scope.again === "once") giveUp(search);
  }
}

/** @throws the failures of all attempts, summarized as one fault */
function giveUp({ failures, schedule, request }: Search): never {
  throw summarizeFailures(failures, schedule, request);
}

/** Logs a failed attempt. A refusal by a budget or a limit is logged differently, because no provider was called. */
function logFailure(log: FallbackLog, { requestId }: Scope, endpoint: Endpoint, fault: Fault): void {
  const { provider, model } = endpoint;
  const { attemptStatus: status, cause: err } = fault;
  if (isBudgetRefusal(fault)) log.info({ request_id: requestId, model, status }, "call refused by a budget");
  else if (isModelLimit(fault)) log.info({ request_id: requestId, model, status }, "call refused by a limit of models");
  else
    log.warn({ request_id: requestId, provider, model, status, error: unansweredKind(fault), err }, "attempt failed");
}
