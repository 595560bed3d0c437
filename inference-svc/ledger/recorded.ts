/** A call to a provider, written down: before it is made, and how it ended before anybody is told. */
import { Fault } from "@sluice/proto/runtime/fault.js";
import { decimal } from "@sluice/proto/runtime/money.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import type { Batch, Outcome, Turn, TurnEvent, Usage } from "../turn/turn.ts";
import { totalOf } from "../turn/usage.ts";
import type { CallLedger, Entry } from "./ledger.ts";
import type { Closed, Kind, Opened } from "./record.ts";

/** Who is called. */
export interface Callee {
  /** Slug. */
  readonly model: string;
  /** Id. */
  readonly provider: string;
  readonly upstreamModel: string;
}

/**
 * Layer around one attempt that is billed.
 * @param sent what the request alone consumes: charged when this process is killed before more is known
 * @throws Fault UNAVAILABLE when it cannot be written down
 */
export const recorded =
  (ledger: CallLedger, callee: Callee, sent: (request: TurnRequest) => Usage, turn: Turn): Turn =>
  async (request, scope) => {
    const call = new RecordedCall(ledger, callee, request, scope);
    call.heard(sent(request));
    try {
      return call.watch(await turn(request, call.scope));
    } catch (error) {
      call.failed(error);
      throw error;
    }
  };

/** A process that is killed leaves at most this much of an answer unpaid. */
const heardMs = 1_000;

/** Nobody waits for the answer any more. */
export const clientLeft = 499;

class RecordedCall {
  readonly #scope: Scope;
  readonly #entry: Entry;
  readonly #attempt: number;
  readonly #startedAt = performance.now();
  #heardAt = performance.now();
  /** When the provider gave its first event. */
  #firstAt: number | undefined;
  #hasCalls = false;

  constructor(ledger: CallLedger, callee: Callee, request: TurnRequest, scope: Scope) {
    this.#scope = scope;
    this.#attempt = scope.trace.bills.length;
    this.#entry = ledger.open(openedOf(this.#attempt + 1, callee, request, scope), scope);
    scope.signal.addEventListener("abort", this.#onAbort);
  }

  /** The one in which the call is made: what goes along with it names its own span. */
  get scope(): Scope {
    const { span } = this.#entry;
    return span ? { ...this.#scope, span } : this.#scope;
  }

  /** Hand-written: a generator would cost more at every batch. */
  watch(batches: AsyncIterable<Batch>): AsyncIterable<Batch> {
    const note = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
      const last = result.done === true ? undefined : result.value.at(-1);
      if (last) this.#firstAt ??= performance.now();
      if (result.done !== true) this.#hasCalls ||= result.value.some(isToolCall);
      if (last?.type === "end") this.#ended(last.outcome);
      else if (performance.now() - this.#heardAt >= heardMs) this.heard(this.#billed);
      return result;
    };
    const fail = (error: unknown): never => {
      this.failed(error);
      throw error;
    };
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = batches[Symbol.asyncIterator]();
        return {
          next: () => iterator.next().then(note, fail),
          return: () => {
            this.#left();
            return iterator.return?.() ?? Promise.resolve({ value: undefined, done: true });
          },
        };
      },
    };
  }

  /** Notes what is to be charged if this process is killed now. */
  heard(usage: Usage | undefined): void {
    this.#heardAt = performance.now();
    const { tokens, costUsd } = consumed(usage);
    if (tokens) this.#entry.note({ tokens, ...(costUsd !== undefined && { costUsd }) });
  }

  failed(error: unknown): void {
    if (this.#scope.signal.aborted) return this.#left();
    this.#close("failed", Fault.from(error).attemptStatus, this.#billed);
  }

  /** The socket hears of it too, and says what was used until then: after that. */
  readonly #onAbort = () => queueMicrotask(() => this.#left());

  #left(): void {
    const { reason } = this.#scope.signal;
    if (reason instanceof Fault) this.#close("failed", reason.attemptStatus, this.#billed);
    else this.#close("cancelled", clientLeft, this.#billed);
  }

  get #billed(): Usage | undefined {
    return this.#scope.trace.bills[this.#attempt]?.usage;
  }

  #ended({ status, reason, usage, serviceTier }: Outcome): void {
    const finishReason = reason ? cutReasons[reason] : this.#hasCalls ? "tool_calls" : "stop";
    this.#close(status, 200, usage, serviceTier, finishReason);
  }

  #close(
    status: Closed["status"],
    httpStatus: number,
    usage: Usage | undefined,
    serviceTier = "",
    finishReason?: Closed["finishReason"],
  ): void {
    this.#scope.signal.removeEventListener("abort", this.#onAbort);
    const durationMs = Math.round(performance.now() - this.#startedAt);
    this.#entry.close({
      status,
      httpStatus,
      durationMs,
      serviceTier,
      ...consumed(usage),
      ...(this.#firstAt !== undefined && { firstMs: Math.round(this.#firstAt - this.#startedAt) }),
      ...(finishReason && { finishReason }),
    });
  }
}

const cutReasons = { max_output_tokens: "length", content_filter: "content_filter" } as const;

/** A call that the client or this service answers; a provider goes on after its own. */
const isToolCall = (event: TurnEvent): boolean =>
  event.type === "item.start" && (event.item.type === "function_call" || event.item.type === "custom_tool_call");

/** @param attempt from 1 */
export function openedOf(
  attempt: number,
  callee: Callee,
  request: Pick<TurnRequest, "stream" | "sessionId">,
  scope: Scope,
): Opened {
  const { caller, turnId, generationId, requestId, user, purpose, part, charged } = scope;
  const kind = purpose ?? part;
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
    ...(user !== undefined && { user }),
    ...(request.sessionId !== undefined && { sessionId: request.sessionId }),
    ...(kind && { kind: kindOf(charged && purpose ? `charged_${purpose}` : kind) }),
  };
}

const kindOf = (kind: Kind): NonNullable<Opened["kind"]> => `CALL_KIND_${kind.toUpperCase() as Uppercase<Kind>}`;

function consumed(usage: Usage | undefined): Pick<Closed, "tokens" | "isEstimated" | "costUsd"> {
  if (!usage) return { isEstimated: false };
  return {
    tokens: {
      input: usage.inputTokens,
      cached: usage.cachedTokens,
      cacheWrite: usage.cacheWriteTokens,
      output: usage.outputTokens,
      reasoning: usage.reasoningTokens,
    },
    isEstimated: usage.estimated ?? false,
    ...(usage.cost && { costUsd: decimal(totalOf(usage.cost)) }),
  };
}
