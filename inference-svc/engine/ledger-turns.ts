/** Records each turn in the ledger before its client receives the end. The number of records of turns refused before any call is bounded. */
import { type Caller, FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { TurnOutcome } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type Fault, FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { RefusedTurns } from "@sluice/proto/lib/turns/refused-turns.js";
import { recordedTags } from "@sluice/proto/lib/turns/tags.js";
import { type TurnFacts, requestedModel, doorWord, turnOperation } from "@sluice/proto/lib/turns/turn-facts.js";
import type { Ledger } from "../models/ledger/ledger.ts";
import { providerErrorKind } from "../turn/provider-error.ts";
import type { Requester } from "../turn/requester.ts";
import { type Stage, type Trace, actionTaken } from "../turn/trace.ts";
import type { TurnEnd, TurnObservation, TurnObserver } from "./turn-recorder.ts";

export interface LedgerTurnsDeps {
  /** The observer that gets the end of each turn after the record is written. */
  readonly inner: Pick<TurnObservation, "ended">;
  readonly ledger: Pick<Ledger, "recordTurn" | "hasRoom">;
  readonly access: Pick<Access, "resolve">;
}

/** Members of a requester in the record of a refused turn. */
export type RefusedRequester = Pick<Requester, "keyHash" | "requestId" | "generationId" | "traceId">;

export class LedgerTurns implements TurnObserver, TurnObservation {
  readonly #parts: LedgerTurnsDeps;
  readonly #refused: RefusedTurns;

  constructor(parts: LedgerTurnsDeps) {
    this.#parts = parts;
    this.#refused = new RefusedTurns({
      write: (turn) => parts.ledger.recordTurn(turn),
      hasRoom: () => parts.ledger.hasRoom,
    });
  }

  begin(): this {
    return this;
  }

  answered(request: RunTurnRequest, requester: Requester, end: TurnEnd): void {
    if (end.caller) this.#record(request, requester, end, end.caller);
  }

  ended(request: RunTurnRequest, requester: Requester, end: TurnEnd): void {
    // The failure of a turn that has not begun is not recorded here: the gateway moves the turn to another process, or
    // records it.
    if (end.outcome === undefined && !end.failure?.isUnbegun) this.#recordUnanswered(request, requester, end);
    this.#parts.inner.ended(request, requester, end);
  }

  /** Records a turn refused before it began. There is no record for an unknown key. */
  refused(request: RunTurnRequest, requester: RefusedRequester, failure: Fault): void {
    const end = { caller: undefined, trace: undefined, outcome: undefined, failure, cancelled: false };
    this.#recordUnresolved(request, requester, end);
  }

  /** Records the refusals counted so far. */
  flush(): void {
    this.#refused.flush();
  }

  #recordUnanswered(request: RunTurnRequest, requester: Requester, end: TurnEnd): void {
    if (end.caller) this.#record(request, requester, end, end.caller);
    else this.#recordUnresolved(request, requester, end);
  }

  #recordUnresolved(request: RunTurnRequest, requester: RefusedRequester, end: TurnEnd): void {
    const resolved = this.#parts.access.resolve(requester.keyHash);
    const record = ({ caller }: { readonly caller?: Caller | undefined }) => {
      if (caller) this.#record(request, requester, end, caller);
    };
    if (resolved instanceof Promise) resolved.then(record, () => {});
    else record(resolved);
  }

  #record(request: RunTurnRequest, requester: RefusedRequester, end: TurnEnd, caller: Caller): void {
    const turn = describeTurn(request, requester, end, caller);
    if (turn.outcome === TurnOutcome.REFUSED) this.#refused.note(turn);
    else this.#parts.ledger.recordTurn(turn);
  }
}

/** Status of a turn after its client left. */
const clientLeft = 499;

function describeTurn(request: RunTurnRequest, requester: RefusedRequester, end: TurnEnd, caller: Caller): TurnFacts {
  const { trace, failure } = end;
  const outcome = outcomeOf(end);
  const isFailure = outcome === TurnOutcome.FAILED || outcome === TurnOutcome.REFUSED;
  const durationMs = trace ? Math.round(performance.now() - trace.startedAt) : 0;
  const found = trace && trace.stages.length > 0 ? findFinding(trace.stages) : undefined;
  const turn: TurnFacts = {
    generationId: requester.generationId,
    requestId: requester.requestId,
    workspaceId: caller.workspaceId,
    keyHash: caller.keyHash,
    openedAtMs: BigInt(Date.now() - durationMs),
    durationMs,
    door: doorWord(request.door),
    operation: turnOperation(request.door),
    model: requestedModel(request.model, request.models),
    outcome,
    httpStatus: isFailure ? (failure?.status ?? 500) : outcome === TurnOutcome.CANCELLED ? clientLeft : 200,
    errorType: isFailure ? (failure?.errorType ?? "") : "",
    providerError: (isFailure && failure && providerErrorKind(failure)) || "",
    providerCode: isFailure ? providerCode(failure) : "",
    guardrailId: found?.guardrail_id ?? "",
    guardrailAction: found ? toFilterAction(found) : FilterAction.UNSPECIFIED,
    rule: found ? nameRule(found) : "",
    streamed: request.stream,
    traceId: requester.traceId ?? "",
    tags: recordedTags(request, caller),
    count: 1,
  };
  if (trace?.firstMs !== undefined) turn.firstMs = Math.round(trace.firstMs);
  if (request.user !== undefined) turn.user = request.user;
  if (request.sessionId !== undefined) turn.sessionId = request.sessionId;
  return turn;
}

const maxCode = 64;

function providerCode(failure: Fault | undefined): string {
  const code = failure?.origin === FaultOrigin.UPSTREAM ? failure.metadata?.["provider_code"] : undefined;
  return typeof code === "string" ? code.slice(0, maxCode) : "";
}

function outcomeOf({ trace, outcome, cancelled }: TurnEnd): TurnOutcome {
  if (outcome) return outcome.status === "completed" ? TurnOutcome.COMPLETED : TurnOutcome.INCOMPLETE;
  if (cancelled) return TurnOutcome.CANCELLED;
  return trace && hasMadeCalls(trace) ? TurnOutcome.FAILED : TurnOutcome.REFUSED;
}

/** Whether the turn made a call for which the key may have to pay. */
export const hasMadeCalls = ({ bills, parts }: Trace): boolean => bills.length > 0 || parts.length > 0;

/** The guardrail stage that blocked, or else the last one with a finding. */
function findFinding(stages: readonly Stage[]): Stage | undefined {
  let last: Stage | undefined;
  for (const stage of stages) {
    if (stage.type !== "guardrail") continue;
    if (actionTaken(stage)?.stops) return stage;
    if (stage.data?.["detected"] === true) last = stage;
  }
  return last;
}

/** The action of a stage; a guardrail in audit mode only flags. */
const toFilterAction = (stage: Stage): FilterAction => actionTaken(stage)?.value ?? FilterAction.FLAG;

const maxRule = 200;

/** Label of the first matching rule, or else the name of the engine. Labels are text of the guardrail, never of the prompt. */
function nameRule({ data }: Stage): string {
  const named = [data?.["patterns"], data?.["engines"]].flat().find((name) => typeof name === "string");
  return typeof named === "string" ? named.slice(0, maxRule) : "";
}
