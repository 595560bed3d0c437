/** A call for a turn over HTTP, from its headers to the end of its answer. For other requests, Koa's context has this role. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import { type TraceHeaders, untraced } from "@sluice/proto/lib/tracing/context.js";
import { readBody } from "../http/body.ts";
import type { Exchange } from "../http/context.ts";
import type { FaultForm } from "../http/errors.ts";
import { type ExchangeDeps, authenticate, beginExchange, closeExchange, answerFailure } from "../http/exchange.ts";
import { waitAfterRefusals } from "../http/impatience.ts";
import type { Observation } from "../http/observe.ts";
import type { AnswerWriter, AnsweredCall } from "./answer-writer.ts";
import type { ScannedBody } from "./body.ts";
import type { CapturedTurn } from "./captured-turn.ts";
import type { Door } from "./door.ts";
import type { OpeningCall } from "./open.ts";
import { type PreparedTurn, type TurnDeps, createAnswer, prepareTurn, sendTurn } from "./prepare.ts";
import type { Refusals } from "./refusals.ts";

export interface TurnCallDeps extends ExchangeDeps, TurnDeps {
  readonly refusals: Pick<Refusals, "note">;
}

export class TurnCall implements Exchange, AnsweredCall, OpeningCall<PreparedTurn> {
  readonly #parts: TurnCallDeps;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly door: Door;
  startedAt = 0;
  requestId = "";
  clientRequestId: string | undefined = undefined;
  loggedAddress: string | undefined = undefined;
  observation!: Observation;
  trace: TraceHeaders = untraced;
  keyHash = "";
  caller!: Caller;
  room!: Reservation;
  path = "";
  route = "";
  fault: Fault | undefined = undefined;
  admission: Admission | undefined = undefined;
  /** Takes the answer if the key captures content. */
  captured: CapturedTurn | undefined = undefined;
  prepared: PreparedTurn | undefined = undefined;
  answer: AnswerWriter | undefined = undefined;

  /** Begins to observe the call. */
  constructor(parts: TurnCallDeps, request: IncomingMessage, response: ServerResponse, door: Door) {
    this.#parts = parts;
    this.req = request;
    this.res = response;
    this.door = door;
    beginExchange(parts, this);
    response.on("close", this.#closed);
  }

  get faults(): FaultForm {
    return this.door.faults;
  }

  get client(): IncomingMessage | undefined {
    return this.req;
  }

  get bodyRoom(): Reservation {
    return this.room;
  }

  enter(): Promise<void> | undefined {
    const slowed = waitAfterRefusals(this.req, this.res);
    return slowed ? slowed.then(() => authenticate(this.#parts, this)) : authenticate(this.#parts, this);
  }

  readBody(): Buffer | Promise<Buffer> {
    return readBody(this.req, this.#parts.limits.body_bytes, this.bodyRoom);
  }

  read(source: ScannedBody, remember: ItemReceiver | undefined): PreparedTurn {
    return prepareTurn(this.#parts, this.door, this.req.headers, source, remember);
  }

  open(turn: PreparedTurn): void {
    createAnswer(this.#parts, this, turn).start((listener) => sendTurn(this.#parts, this, turn, listener));
  }

  refused(error: unknown): Promise<void> {
    return answerFailure(this.#parts, this, error);
  }

  /** Releases the memory of the request. The lane pool has already dropped the request's content. */
  accepted(): void {
    this.room.release();
  }

  settled(fault: Fault | undefined): void {
    this.leave(fault === undefined);
    this.captured?.end();
    this.fault = fault;
  }

  /**
   * Releases the call's place in its rate limits. Only the first call of this method has an effect. @param left whether the client left before the
   * end
   */
  protected leave(left: boolean): void {
    this.admission?.leave(left);
  }

  /** Called when the response closes, at its end or because the client left. */
  readonly #closed = (): void => {
    closeExchange(this);
    this.answer?.left();
    this.captured?.end();
    if (this.fault) this.#parts.refusals.note(this, this.door.name, this.fault, this.prepared);
  };
}
