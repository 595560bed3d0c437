/** A response under way on a connection: its place in the limits, its memory, its log line. */
import type { IncomingMessage } from "node:http";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { LoadShedding } from "../../../edge/http/load-shedding.ts";
import type { Observation } from "../../../edge/http/observe.ts";
import { responsesPath } from "../../../edge/http/turn-head.ts";
import { admit } from "../../../edge/limits/admission.ts";
import { reserveForParsing } from "../../../edge/turns/body.ts";
import type { CapturedTurn } from "../../../edge/turns/captured-turn.ts";
import { toOpenMessage, wantsServiceMetadata } from "../../../edge/turns/prepare.ts";
import type { TurnRouteParts } from "../../../edge/turns/route.ts";
import { type ReadResponse, readResponse, responsesDoor } from "../door.ts";
import { type CreateFrame, bodyOf } from "./frame.ts";
import { type EventReceiver, SocketTurn } from "./turn.ts";

/** The connection of a call. */
export interface CallConnection {
  readonly parts: TurnRouteParts;
  readonly shedding: LoadShedding;
  /** The upgrade request of the connection. */
  readonly request: IncomingMessage;
  readonly keyHash: string;
}

const overloaded = () => new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.GATEWAY });
const draining = () => new Fault(FaultReason.UNAVAILABLE, "The gateway is stopping", { origin: FaultOrigin.GATEWAY });
/** Frames have no headers, so the rate limit headers of an answer go nowhere. */
const noHeaders = { headersSent: true, setHeader: () => noHeaders as never };

export class SocketCall {
  readonly requestId = newId("req_");
  readonly #connected: CallConnection;
  readonly #startedAt = performance.now();
  readonly #observation: Observation;
  readonly #room: Reservation;
  #admission: Admission | undefined = undefined;
  #caller: Caller | undefined = undefined;
  #request: RunTurnRequest | undefined = undefined;
  readonly #generationId = newId("gen-");
  #isOver = false;
  #captured: CapturedTurn | undefined = undefined;
  turn: SocketTurn | undefined = undefined;

  constructor(connected: CallConnection) {
    this.#connected = connected;
    this.#observation = connected.parts.observer.begin(connected.request);
    this.#room = connected.parts.budget.open(connected.keyHash);
  }

  /** Takes the steps of every turn before its body. @throws Fault */
  async admit({ generates }: CreateFrame): Promise<void> {
    const { parts, shedding, request, keyHash } = this.#connected;
    if (parts.lifecycle.draining) throw draining();
    if (shedding.refuses(request)) throw overloaded();
    const { caller } = await parts.access.resolve(keyHash, undefined, this.#observation.trace);
    if (!caller) throw invalidKey();
    // A frame without generation is not a turn.
    if (generates) this.#caller = caller;
    await eventLoop.turnOf(keyHash);
    // A frame without generation takes no place in the limits.
    if (!generates) return;
    const admission = await admit(parts.limiter, caller, noHeaders);
    if (this.#isOver) admission.leave();
    else this.#admission = admission;
  }

  /** @param input JSON of all its items @throws Fault */
  async open(frame: CreateFrame, input: string, taker: EventReceiver): Promise<void> {
    const body = bodyOf(frame, input);
    const { request, identity, members } = await this.#read(body);
    if (this.#isOver) return;
    this.#request = request;
    this.#captured = this.#capture(request, body, members);
    const turn = new SocketTurn(taker, identity, request, this.#captured);
    this.turn = turn;
    if (!frame.generates) return turn.prepare();
    const { parts, keyHash } = this.#connected;
    const caller = { keyHash, requestId: this.requestId, trace: this.#observation.trace };
    const prepared = { request, generationId: this.#generationId, timeoutMs: undefined };
    turn.start(keyHash, (listener) => parts.pool.open(toOpenMessage(parts, caller, prepared), listener));
  }

  /** Ends the call, and the turn with it. @param status 499 when the client has left */
  end(fault: Fault | undefined, status: number): void {
    this.#isOver = true;
    const hasLeft = status === 499;
    if (hasLeft) this.turn?.abandon();
    this.#captured?.end();
    this.#admission?.leave(this.#admission.countsTokens ? this.turn?.tokens(hasLeft || !fault) : undefined);
    this.#room.release();
    this.#observation.note({
      requestId: this.requestId,
      clientRequestId: undefined,
      method: "WEBSOCKET",
      route: responsesPath,
      status,
      ms: performance.now() - this.#startedAt,
      errorType: fault?.errorType,
      cause: fault?.cause,
    });
    if (fault) this.#noteRefusal(fault);
  }

  #noteRefusal(fault: Fault): void {
    const caller = this.#caller;
    if (!caller) return;
    const { requestId } = this;
    const durationMs = performance.now() - this.#startedAt;
    const read = { request: this.#request, generationId: this.#generationId };
    const { trace } = this.#observation;
    this.#connected.parts.refusals.note({ caller, requestId, trace, door: "responses", fault, durationMs, ...read });
  }

  /** A frame without generation has no caller. */
  #capture(request: RunTurnRequest, body: Buffer, members: readonly JsonMember[]): CapturedTurn | undefined {
    const caller = this.#caller;
    if (caller?.capturesContent !== true) return undefined;
    const named = {
      caller,
      requestId: this.requestId,
      generationId: this.#generationId,
      startedAt: this.#startedAt,
    };
    return this.#connected.parts.captures.begin({ ...named, request, body, members });
  }

  async #read(body: Buffer): Promise<ReadResponse & { readonly members: readonly JsonMember[] }> {
    const { parts, request } = this.#connected;
    await this.#room.grow(2 * body.length);
    const members = scanObject(body, "frame");
    await reserveForParsing(this.#room, body, members, responsesDoor.unparsed);
    const sessionId = request.headers["x-session-id"];
    const read = readResponse(body, members, {
      sessionId: typeof sessionId === "string" ? sessionId : undefined,
      serviceMetadata: wantsServiceMetadata(request.headers, parts.compat),
      compat: parts.compat,
    });
    return { ...read, members };
  }
}
