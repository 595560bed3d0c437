/** A call for a turn, from its head to the end of its answer. It has the role of Koa's context for other requests. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { TokenMeter } from "@sluice/proto/lib/limits/meter.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { type TraceHeaders, untraced } from "@sluice/proto/lib/tracing/context.js";
import type { Exchange } from "../http/context.ts";
import type { FaultForm } from "../http/errors.ts";
import { closeExchange } from "../http/exchange.ts";
import type { Observation } from "../http/observe.ts";
import type { AnswerWriter, AnsweredCall, AnsweredTurn } from "./answer-writer.ts";
import type { CapturedTurn } from "./captured-turn.ts";
import type { Door } from "./door.ts";
import type { Refusals } from "./refusals.ts";

export class TurnCall implements Exchange, AnsweredCall {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly door: Door;
  startedAt = 0;
  requestId = "";
  clientRequestId: string | undefined = undefined;
  observation!: Observation;
  trace: TraceHeaders = untraced;
  keyHash = "";
  caller!: Caller;
  room!: Reservation;
  path = "";
  route = "";
  fault: Fault | undefined = undefined;
  /** Counts the tokens of the turn, when it has a limit of tokens and is not shared. */
  meter: TokenMeter | undefined = undefined;
  /** Takes the answer where the key captures content. */
  captured: CapturedTurn | undefined = undefined;
  /** Gives back the call's place in its rate limits, or in a shared turn. Only the first call of this function has an effect. */
  leave: (tokens?: number) => void = () => {};
  prepared: AnsweredTurn | undefined = undefined;
  /** Releases the memory of the request: the pool has dropped its content. */
  answer: AnswerWriter | undefined = undefined;

  constructor(request: IncomingMessage, response: ServerResponse, door: Door) {
    this.req = request;
    this.res = response;
    this.door = door;
  }

  get faults(): FaultForm {
    return this.door.faults;
  }

  /** Releases the memory of the request, whose content the pool has dropped. */
  accepted(): void {
    this.room.release();
  }

  settled(fault: Fault | undefined): void {
    this.leave(this.meter?.tokens(fault === undefined));
    this.captured?.end();
    this.fault = fault;
  }

  /** Called when the response closes, at its end or because the client left. */
  closed(refusals: Pick<Refusals, "note">): void {
    closeExchange(this);
    this.answer?.left();
    this.captured?.end();
    if (this.fault) this.#note(refusals, this.fault);
  }

  /** There is no record for an unknown key. */
  #note(refusals: Pick<Refusals, "note">, fault: Fault): void {
    const caller = this.caller as Caller | undefined;
    if (!caller) return;
    const durationMs = performance.now() - this.startedAt;
    const { requestId, trace, door, prepared } = this;
    const { request, generationId } = prepared ?? {};
    refusals.note({ caller, requestId, trace, door: door.name, fault, durationMs, request, generationId });
  }
}
