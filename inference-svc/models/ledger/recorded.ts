/** Records a call to a provider: its start is on disk before the call is made, and its end before the client receives the end of the answer. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";
import { throwIfAborted } from "../../turn/abort.ts";
import type { Scope } from "../../turn/scope.ts";
import { Answer, type Batch, type NextBatch, type Turn, type TurnEvent } from "../../turn/turn.ts";
import { type Usage, totalCost } from "../../turn/usage.ts";
import type { CallLedger, CallRecording, LedgerEntry, OnStarted } from "./ledger.ts";
import type { CallCharge, CallEnd, CallStart } from "./record.ts";

/** The model called, and its provider. */
export interface CalledEndpoint {
  /** Slug of the model. */
  readonly model: string;
  /** Id of the provider. */
  readonly provider: string;
  readonly upstreamModel: string;
}

/**
 * A layer that records one billed attempt.
 * @throws Fault UNAVAILABLE when the call cannot be recorded
 */
export const recordLayer =
  ({ ledger, callee, sent, findTask }: CallRecording, turn: Turn): Turn =>
  (request, scope) => {
    const start = toCallStart(scope.trace.bills.length + 1, callee, request, scope, findTask?.(request, scope));
    return new RecordedAnswer({ ledger, start, scope, sent: sent(request), begin: (inner) => turn(request, inner) });
  };

/** Milliseconds between records of the charge: if the process is killed, at most this last part of an answer stays unpaid. */
const usageReportMs = 1_000;

/** HTTP status in the ledger for a call whose client has left. */
export const clientClosedStatus = 499;

class RecordedCall {
  readonly #scope: Scope;
  readonly #entry: LedgerEntry;
  readonly #attempt: number;
  readonly #startedAt = performance.now();
  #heardAt = performance.now();
  /** performance.now() of the provider's first event. */
  #firstAt: number | undefined;
  #hasCalls = false;

  constructor(ledger: CallLedger, start: CallStart, scope: Scope, onStarted: OnStarted) {
    this.#scope = scope;
    this.#attempt = start.attempt - 1;
    this.#entry = ledger.open(start, scope, onStarted);
  }

  /**
   * Begins the call.
   * @returns the call's scope, by which request headers name its span
   * @throws the abort reason when the turn was cancelled while the start of the call was written
   */
  begin(): Scope {
    const { signal } = this.#scope;
    throwIfAborted(signal);
    signal.addEventListener("abort", this.#onAbort);
    const { span } = this.#entry;
    return span ? this.#scope.with({ span }) : this.#scope;
  }

  note(batch: Batch): void {
    const last = batch.at(-1);
    this.#firstAt ??= performance.now();
    this.#hasCalls ||= batch.some(isToolCall);
    if (last?.type === "end") {
      const { status, reason, usage, serviceTier } = last.outcome;
      const finishReason = reason ? cutReasons[reason] : this.#hasCalls ? "tool_calls" : "stop";
      this.#close(status, 200, usage, serviceTier, finishReason);
    } else if (performance.now() - this.#heardAt >= usageReportMs) this.noteUsage(this.#billed);
  }

  /** Records what the call costs if this process is killed now. */
  noteUsage(usage: Usage | undefined): void {
    this.#heardAt = performance.now();
    if (usage) this.#entry.note(chargeOf(usage));
  }

  failed(error: unknown): void {
    if (this.#scope.signal.aborted) return this.left();
    this.#closeUnanswered("failed", Fault.from(error).attemptStatus);
  }

  /** Records the end after an abort. The abort also stops the socket, which completes the bill: the end is recorded a microtask later. */
  readonly #onAbort = () => queueMicrotask(() => this.left());

  left(): void {
    const { reason } = this.#scope.signal;
    if (reason instanceof Fault) this.#closeUnanswered("failed", reason.attemptStatus);
    else this.#closeUnanswered("cancelled", clientClosedStatus);
  }

  get #billed(): Usage | undefined {
    return this.#scope.trace.bills[this.#attempt]?.usage;
  }

  #closeUnanswered(status: CallEnd["status"], httpStatus: number): void {
    this.#close(status, httpStatus, this.#billed, "", undefined);
  }

  #close(
    status: CallEnd["status"],
    httpStatus: number,
    usage: Usage | undefined,
    serviceTier: string,
    finishReason: CallEnd["finishReason"],
  ): void {
    this.#scope.signal.removeEventListener("abort", this.#onAbort);
    const end = new RecordedEnd(status, httpStatus, usage, serviceTier, finishReason);
    end.durationMs = Math.round(performance.now() - this.#startedAt);
    if (this.#firstAt !== undefined) end.firstMs = Math.round(this.#firstAt - this.#startedAt);
    this.#entry.close(end);
  }
}

/** The end of a call. It is a class because V8 takes a slow path to build the same object as a literal. */
class RecordedEnd implements CallEnd {
  readonly status: CallEnd["status"];
  readonly httpStatus: number;
  durationMs = 0;
  readonly serviceTier: string;
  readonly tokens: CallEnd["tokens"] = undefined;
  readonly isEstimated: boolean;
  readonly doubted: CallEnd["doubted"];
  readonly costUsd: string | undefined = undefined;
  firstMs: number | undefined = undefined;
  readonly finishReason: CallEnd["finishReason"];

  constructor(
    status: CallEnd["status"],
    httpStatus: number,
    usage: Usage | undefined,
    serviceTier: string,
    finishReason: CallEnd["finishReason"],
  ) {
    this.status = status;
    this.httpStatus = httpStatus;
    this.serviceTier = serviceTier;
    this.isEstimated = usage?.estimated ?? false;
    this.doubted = usage?.doubted;
    this.finishReason = finishReason;
    if (usage === undefined) return;
    const { tokens, costUsd } = chargeOf(usage);
    this.tokens = tokens;
    this.costUsd = costUsd;
  }
}

interface CallToRecord {
  readonly ledger: CallLedger;
  readonly start: CallStart;
  readonly scope: Scope;
  readonly sent: Usage;
  /** Makes the call to the provider. */
  readonly begin: (scope: Scope) => Answer;
}

/** The answer of a call made once its start is on disk. Its events are recorded as they pass. */
class RecordedAnswer extends Answer {
  /** Makes the call; undefined once the call is made, because the function keeps the request in memory. */
  #begin: ((scope: Scope) => Answer) | undefined;
  readonly #call: RecordedCall;
  #answer: Answer | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;
  #wake = () => {};

  /** Records the start of the call. @throws Fault UNAVAILABLE when the call cannot be recorded */
  constructor({ ledger, start, scope, sent, begin }: CallToRecord) {
    super();
    this.#begin = begin;
    this.#call = new RecordedCall(ledger, start, scope, this.#onStarted);
    this.#call.noteUsage(sent);
  }

  readonly #onStarted: OnStarted = (failure) => {
    if (failure) this.#failure = { error: failure };
    else if (!this.#isClosed) this.#start();
    this.#wake();
  };

  #start(): void {
    const begin = this.#begin;
    this.#begin = undefined;
    try {
      this.#answer = begin?.(this.#call.begin());
    } catch (error) {
      this.#call.failed(error);
      this.#failure = { error };
    }
  }

  override next(wake: () => void): NextBatch {
    if (this.#failure) throw this.#failure.error;
    if (!this.#answer) {
      this.#wake = wake;
      return "pending";
    }
    try {
      const next = this.#answer.next(wake);
      if (typeof next !== "string") this.#call.note(next);
      return next;
    } catch (error) {
      this.#call.failed(error);
      throw error;
    }
  }

  override close(): Promise<void> | undefined {
    this.#isClosed = true;
    this.#call.left();
    return this.#answer?.close();
  }
}

const cutReasons = { max_output_tokens: "length", content_filter: "content_filter" } as const;

/** Whether the event starts a call the client or Sluice must answer; a provider answers its own calls, and goes on. */
const isToolCall = (event: TurnEvent): boolean =>
  event.type === "item.start" && (event.item.type === "function_call" || event.item.type === "custom_tool_call");

/** @param attempt number of the attempt, from 1 */
export function toCallStart(
  attempt: number,
  callee: CalledEndpoint,
  request: { readonly stream: boolean; readonly sessionId?: string | undefined },
  scope: Scope,
  task?: string,
): CallStart {
  const { caller, turnId, generationId, requestId, user, tags, door, operation, payer } = scope;
  return {
    turnId,
    attempt,
    workspaceId: caller.workspaceId,
    keyHash: caller.keyHash,
    generationId,
    requestId,
    openedAtMs: Date.now(),
    model: callee.model,
    provider: callee.provider,
    upstreamModel: callee.upstreamModel,
    streamed: request.stream,
    user,
    sessionId: request.sessionId,
    tags,
    door,
    task,
    operation,
    payer,
    isHeld: scope.hasBudget,
  };
}

function chargeOf(usage: Usage): CallCharge {
  return {
    tokens: {
      input: usage.inputTokens,
      cached: usage.cachedTokens,
      cacheWrite: usage.cacheWriteTokens,
      output: usage.outputTokens,
      reasoning: usage.reasoningTokens,
    },
    costUsd: usage.cost && toDecimal(totalCost(usage.cost)),
  };
}
