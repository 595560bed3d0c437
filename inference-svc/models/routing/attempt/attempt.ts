/** Makes an attempt: calls an endpoint once, and notes the outcome in the receipt and in the endpoint's record. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { UnansweredKind } from "@sluice/proto/contract/response/provider-error.js";
import { estimateInputTokens, measureInput } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import { CollectedAnswer, ForwardedAnswer } from "../../../turn/answer-kinds.ts";
import type { Scope } from "../../../turn/scope.ts";
import { unansweredKind } from "../../../turn/provider-error.ts";
import type { Answer, Batch, Turn, TurnEvent } from "../../../turn/turn.ts";
import { faultOwner, isRefusedBeforeCall } from "./fault-owner.ts";
import type { ObservedAttempt } from "./ejection.ts";
import type { Endpoint } from "../catalog.ts";
import type { EndpointRecord, EndpointRecords } from "../records/endpoint-record.ts";
import { Measurement } from "./measured.ts";
import { limitAnswer } from "../choose/answer-limit.ts";
import { withoutUnsupported } from "../choose/needs.ts";
import type { ScheduledAttempt } from "./schedule.ts";
import { ToolCallMeter } from "./tool-arguments.ts";

export interface AttemptDeps {
  readonly turn: Turn;
  readonly records: EndpointRecords;
  /** Whether the route has other endpoints, so this endpoint's speed and tool calls decide its place among them. */
  readonly measure: boolean;
}

/** Calls an endpoint. @throws the failure of the endpoint; the answer may throw it as well */
export function attemptEndpoint(
  { endpoint, follows }: ScheduledAttempt,
  deps: AttemptDeps,
  request: TurnRequest,
  scope: Scope,
): Answer {
  const attempt = new EndpointAttempt(endpoint, follows, deps, request, scope);
  try {
    const { droppedFields } = scope.trace;
    const limited = limitAnswer(request, endpoint, droppedFields);
    const answer = deps.turn(withoutUnsupported(limited, endpoint, droppedFields), scope);
    const meter = deps.measure ? attempt.meter(request) : undefined;
    if (request.stream) return new AttemptAnswer(answer, attempt, deps.measure, meter);
    return new AttemptAnswer(new CollectedAnswer(answer, isWhole), attempt, false, meter);
  } catch (error) {
    attempt.failed(error);
    throw error;
  }
}

/** Whether the event occurs in an answer without `stream`, which has whole items and no deltas. */
const isWhole = ({ type }: TurnEvent): boolean => type === "item.end" || type === "end";

/** One call of an endpoint, for the receipt and for the endpoint's record. */
class EndpointAttempt {
  readonly endpoint: Endpoint;
  /** The request; undefined once the answer has begun, to free its memory. */
  #request: TurnRequest | undefined;
  readonly #scope: Scope;
  readonly #records: EndpointRecords;
  readonly #record: EndpointRecord;
  readonly #retry: ((failed: boolean, now: number) => void) | undefined;
  readonly #observed: ObservedAttempt;
  /** Number of bills of the attempts before this one. */
  readonly #billed: number;

  constructor(
    endpoint: Endpoint,
    follows: ScheduledAttempt["follows"],
    { records }: Pick<AttemptDeps, "records">,
    request: TurnRequest,
    scope: Scope,
  ) {
    const startedAt = records.now();
    const record = records.get(endpoint);
    this.endpoint = endpoint;
    this.#request = request;
    this.#scope = scope;
    this.#records = records;
    this.#record = record;
    if (follows === "nothing") record.budget.countRequest(startedAt);
    this.#retry = follows === "failure" ? record.budget.beginRetry(record.ejection.failing) : undefined;
    this.#observed = record.ejection.begin(startedAt);
    scope.trace.droppedFields = [];
    scope.trace.passedFields = [];
    this.#billed = scope.trace.bills.length;
  }

  /** Sluice's own events in front of the provider's, returned once: the request bodies, then the start. */
  open(): readonly TurnEvent[] {
    const { bodies, alteredFields: altered, passedFields: passed } = this.#scope.trace;
    const request = this.#request;
    const start: TurnEvent = {
      type: "start",
      model: this.endpoint.model,
      inputTokens: request?.door === "messages" && request.stream ? this.#inputTokens(request) : undefined,
      altered,
      passed: passed.length > 0 ? passed : undefined,
    };
    this.#request = undefined;
    return bodies.length === 0 ? [start] : [...bodies.map((bodyJson) => ({ type: "debug" as const, bodyJson })), start];
  }

  /** Estimated input tokens for the start event, which the Messages format sends before most providers have counted them. */
  #inputTokens(request: TurnRequest): number {
    const counted = this.#scope.trace.bills.at(-1)?.reported?.inputTokens;
    return counted || estimateInputTokens(measureInput(request), this.endpoint.model);
  }

  /** Notes that the answer is committed to the endpoint. @returns the measurement of the answer, if it is measured */
  committed(isMeasured: boolean): Measurement | undefined {
    const now = this.#records.now();
    this.#observed.committed(now);
    if (!isMeasured) this.#observed.end("well", now);
    this.#retry?.(false, now);
    this.#note(200);
    return isMeasured ? new Measurement(this.#observed, this.#record, this.#records, this.#scope) : undefined;
  }

  /** @returns undefined when the answer can call no function */
  meter(request: TurnRequest): ToolCallMeter | undefined {
    return ToolCallMeter.of(request, this.#record.toolCalls, this.#records.now);
  }

  failed(error: unknown): void {
    const fault = Fault.from(error);
    const { signal, trace } = this.#scope;
    const now = this.#records.now();
    const failed = !signal.aborted && faultOwner(fault) === "endpoint";
    this.#observed.end(failed ? "failed" : "neither", now);
    this.#retry?.(failed, now);
    if (trace.bills.length > this.#billed || !isRefusedBeforeCall(fault))
      this.#note(fault.attemptStatus, unansweredKind(fault));
  }

  #note(status: number, error?: UnansweredKind): void {
    const { providerName: provider, model } = this.endpoint;
    this.#scope.trace.attempts.push({ provider, model, status, error });
  }
}

class AttemptAnswer extends ForwardedAnswer {
  readonly #attempt: EndpointAttempt;
  readonly #isMeasured: boolean;
  readonly #meter: ToolCallMeter | undefined;
  #isOpen = false;
  #measurement: Measurement | undefined;

  constructor(answer: Answer, attempt: EndpointAttempt, isMeasured: boolean, meter: ToolCallMeter | undefined) {
    super(answer);
    this.#attempt = attempt;
    this.#isMeasured = isMeasured;
    this.#meter = meter;
  }

  protected override passed(batch: Batch): Batch {
    const isFirst = !this.#isOpen;
    if (isFirst) this.#open();
    this.#measurement?.note(batch);
    this.#meter?.note(batch);
    return isFirst ? [...this.#attempt.open(), ...batch] : batch;
  }

  #open(): void {
    this.#isOpen = true;
    this.#measurement = this.#attempt.committed(this.#isMeasured);
  }

  /** Handles an answer that ends without any event, which also counts for the endpoint. */
  protected override ended(): void {
    if (!this.#isOpen) this.#open();
  }

  protected override failed(error: unknown): unknown {
    if (this.#isOpen) this.#measurement?.failed();
    else this.#attempt.failed(error);
    return error;
  }

  protected override left(): void {
    this.#measurement?.left();
  }
}
