/**
 * Records turns that this gateway itself refuses or loses: by a limit, for an invalid body, or without an available process. Any inference process
 * writes the records to its spool, together with those of its own turns. All other turns are recorded where they run.
 */
import type { Client } from "@grpc/grpc-js";
import { type Caller, FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { TurnOutcome, type TurnRecord } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { RefusedTurns } from "@sluice/proto/lib/turns/refused-turns.js";
import { recordedTags } from "@sluice/proto/lib/turns/tags.js";
import { type TurnFacts, requestedModel, turnOperation } from "@sluice/proto/lib/turns/turn-facts.js";
import type { TurnCaller } from "./open.ts";

/** Maximum number of records that wait for an inference process; further refusals are only counted. */
const maxWaiting = 1_000;
/** Milliseconds in which records are collected for one call. */
const lingerMs = 100;
const retryMs = 1_000;
const timeoutMs = 5_000;

export interface RefusalsDeps {
  /** Finds a connection to an inference process. */
  readonly inference: () => Client;
  readonly token: ServiceToken;
  readonly log: Pick<Logger, "warn">;
}

/** The facts of a refused turn that are known if its body was read. */
export interface RefusedTurn {
  readonly request: Pick<RunTurnRequest, "model" | "models" | "stream" | "user" | "sessionId" | "metadata" | "tags">;
  readonly generationId: string;
}

export class Refusals {
  readonly #parts: RefusalsDeps;
  readonly #refused: RefusedTurns;
  #waiting: TurnRecord[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #failing = false;

  constructor(parts: RefusalsDeps) {
    this.#parts = parts;
    this.#refused = new RefusedTurns({
      write: (turn) => this.#push(turn),
      hasRoom: () => this.#waiting.length < maxWaiting,
    });
  }

  /**
   * Records the refusal of a call. An unknown key gets no record, and a failure from another process is already recorded there.  @param turn
   * undefined if the body was not read
   */
  note(call: TurnCaller, door: TurnFacts["door"], fault: Fault, turn: RefusedTurn | undefined): void {
    const { caller } = call;
    if (caller && !fault.isForwarded) this.#refused.note(describeRefusal(call, caller, door, fault, turn));
  }

  /** Sends the remaining records, without a further try after a failure. */
  async stop(): Promise<void> {
    this.#refused.flush();
    await this.#sending;
    await this.#send();
    clearTimeout(this.#timer);
  }

  #push(turn: TurnFacts): void {
    this.#waiting.push({
      $typeName: "sluice.admin.v1.TurnRecord",
      ...turn,
      bootId: "",
      sequence: 0n,
      instance: "",
    });
    this.#sendAfter(lingerMs);
  }

  #sendAfter(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#sending = this.#send();
    }, ms).unref();
  }

  /** Sends a batch, again if there was no answer: duplicate records are stored only once. */
  async #send(): Promise<void> {
    const sent = this.#waiting.slice();
    if (sent.length === 0) return;
    const { inference, token } = this.#parts;
    const request = { $typeName: "sluice.inference.v1.RecordRefusalsRequest" as const, turns: sent };
    try {
      await call(inference(), InferenceService.method.recordRefusals, request, serviceMetadata(token), timeoutMs);
      this.#waiting = this.#waiting.slice(sent.length);
      this.#failing = false;
    } catch (err) {
      if (!this.#failing) this.#parts.log.warn({ err }, "refused turns cannot be recorded yet");
      this.#failing = true;
    }
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#sendAfter(this.#failing ? retryMs : lingerMs);
  }
}

function describeRefusal(
  { requestId, trace, startedAt }: TurnCaller,
  caller: Caller,
  door: TurnFacts["door"],
  fault: Fault,
  turn: RefusedTurn | undefined,
): TurnFacts {
  const durationMs = Math.round(performance.now() - startedAt);
  const request = turn?.request;
  const facts: TurnFacts = {
    generationId: turn?.generationId ?? newId("gen-"),
    requestId,
    workspaceId: caller.workspaceId,
    keyHash: caller.keyHash,
    openedAtMs: BigInt(Date.now() - durationMs),
    durationMs,
    door,
    operation: turnOperation(door),
    model: request ? requestedModel(request.model, request.models) : "",
    outcome: TurnOutcome.REFUSED,
    httpStatus: fault.status,
    errorType: fault.errorType,
    providerError: "",
    providerCode: "",
    guardrailId: "",
    guardrailAction: FilterAction.UNSPECIFIED,
    rule: "",
    streamed: request?.stream ?? false,
    // The trace id is the second part of a traceparent; it is empty without tracing.
    traceId: trace.traceparent.split("-")[1] ?? "",
    tags: request ? recordedTags(request, caller) : caller.tags,
    count: 1,
  };
  if (request?.user !== undefined) facts.user = request.user;
  if (request?.sessionId !== undefined) facts.sessionId = request.sessionId;
  return facts;
}
