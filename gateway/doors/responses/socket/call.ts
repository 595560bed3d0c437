/** A running response on a WebSocket: its place in the limits, its memory and its log line. */
import type { IncomingMessage } from "node:http";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import { requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import type { TraceHeaders } from "@sluice/proto/lib/tracing/context.js";
import type { LoadShedding } from "../../../edge/http/load-shedding.ts";
import type { Observation } from "../../../edge/http/observe.ts";
import { type ScannedBody, scanBody } from "../../../edge/turns/body.ts";
import { guardrailsForbidKeeping } from "@sluice/proto/lib/policy/kept-content.js";
import { forbidsStorage } from "../../../edge/turns/storage.ts";
import type { CapturedTurn } from "../../../edge/turns/captured-turn.ts";
import { type OpeningCall, openTurn } from "../../../edge/turns/open.ts";
import { readSessionId, readTags, sendTurn, wantsServiceMetadata } from "../../../edge/turns/prepare.ts";
import type { TurnRouteDeps } from "../../../edge/turns/route.ts";
import { type ReadResponse, readResponse, responsesDoor } from "../door.ts";
import { type CreateFrame, bodyOf } from "./frame.ts";
import { type EventReceiver, SocketTurn } from "./turn.ts";

/** The WebSocket connection, as far as its responses need it. */
export interface CallConnection {
  readonly parts: TurnRouteDeps;
  readonly shedding: LoadShedding;
  /** The HTTP request that opened the connection. */
  readonly request: IncomingMessage;
  readonly keyHash: string;
}

/** The connection, as far as a running response needs it. */
export interface FrameReceiver extends EventReceiver {
  /** JSON of the items of the complete input, including items that the connection remembers. @throws Fault INVALID_REQUEST */
  readonly wholeInput: () => string;
  /** Whether the frame continues a response whose content must not be stored. */
  readonly continuesUnstored: boolean;
}

interface SocketResponse extends ReadResponse {
  readonly generationId: string;
}

const overloaded = () => new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.GATEWAY });
const draining = () => new Fault(FaultReason.UNAVAILABLE, "The gateway is stopping", { origin: FaultOrigin.GATEWAY });
/** Stands in for the HTTP answer: frames have no headers, so rate limit headers are dropped. */
const noHeaders = { headersSent: true, setHeader: () => noHeaders as never };
/** The door for frames. References to stored items are not resolved, since a connection remembers earlier items itself. */
const frameDoor = { ...responsesDoor, refersToItems: false, bodyName: "frame" };

export class SocketCall implements OpeningCall<SocketResponse> {
  readonly requestId = newId("req_");
  readonly generationId = newId("gen-");
  readonly startedAt = performance.now();
  readonly trace: TraceHeaders;
  readonly door = frameDoor;
  readonly res = noHeaders;
  readonly client = undefined;
  readonly bodyRoom: Reservation;
  readonly keyHash: string;
  caller!: Caller;
  route: string = frameDoor.path;
  admission: Admission | undefined = undefined;
  captured: CapturedTurn | undefined = undefined;
  /** JSON of the items of the complete input; empty until it is read. */
  input = "";
  isUnstored = false;
  turn: SocketTurn | undefined = undefined;
  readonly #connected: CallConnection;
  readonly #frame: CreateFrame;
  readonly #receiver: FrameReceiver;
  readonly #observation: Observation;
  readonly #loggedAddress: string | undefined;
  #read: SocketResponse | undefined = undefined;
  #isOver = false;

  constructor(connected: CallConnection, frame: CreateFrame, receiver: FrameReceiver) {
    const { parts, request, keyHash } = connected;
    this.#connected = connected;
    this.#frame = frame;
    this.#receiver = receiver;
    this.#observation = parts.observer.begin(request);
    this.#loggedAddress = parts.logsAddresses ? parts.addressOf(request) : undefined;
    this.trace = this.#observation.trace;
    this.keyHash = keyHash;
    this.bodyRoom = parts.budget.open(keyHash);
  }

  /** Opens the turn. The promise resolves once the turn is open. @throws Fault */
  answer(): Promise<void> {
    return this.#frame.generates ? openTurn(this.#connected.parts, this) : this.#prepare();
  }

  /** Answers a frame that requests no generation. The frame is checked like a turn, but takes no place in the limits. */
  async #prepare(): Promise<void> {
    await this.enter();
    const { identity } = this.read(await scanBody(await this.readBody(), this));
    if (this.#isOver) return;
    this.turn = new SocketTurn(this.#receiver, identity, undefined);
    this.turn.prepare();
  }

  async enter(): Promise<void> {
    const { parts, shedding, request } = this.#connected;
    if (parts.lifecycle.draining) throw draining();
    if (shedding.refuses(request)) throw overloaded();
    const { caller } = await parts.access.resolve(this.keyHash, undefined, this.trace);
    if (!caller) throw invalidKey();
    this.caller = caller;
    requireAllowedNetwork(caller.allowedNetworks, parts.addressOf(request));
    await eventLoop.turnOf(this.keyHash);
  }

  async readBody(): Promise<Buffer> {
    this.input = this.#receiver.wholeInput();
    const body = bodyOf(this.#frame, this.input);
    await this.bodyRoom.grow(2 * body.length);
    return body;
  }

  read({ body, members }: ScannedBody): SocketResponse {
    const { compat } = this.#connected.parts;
    const { headers } = this.#connected.request;
    const read = readResponse(body, members, {
      sessionId: readSessionId(headers),
      serviceMetadata: wantsServiceMetadata(headers, compat),
      compat,
    });
    read.request.tags = readTags(headers);
    this.isUnstored =
      this.#receiver.continuesUnstored ||
      forbidsStorage(read.request, body, members) ||
      guardrailsForbidKeeping(this.caller);
    this.#read = { ...read, generationId: this.generationId };
    return this.#read;
  }

  open({ request, identity, generationId }: SocketResponse): void {
    if (this.#isOver) return this.admission?.leave(true);
    const { parts } = this.#connected;
    this.turn = new SocketTurn(this.#receiver, identity, this.captured);
    const turn = { request, generationId, timeoutMs: undefined };
    this.turn.start(this.keyHash, (listener) => sendTurn(parts, this, turn, listener));
  }

  refused(error: unknown): never {
    throw error;
  }

  /** Ends the call, and the turn with it. @param status 499 when the client has left */
  end(fault: Fault | undefined, status: number): void {
    this.#isOver = true;
    const hasLeft = status === 499;
    if (hasLeft) this.turn?.abandon();
    this.captured?.end();
    this.admission?.leave(hasLeft || !fault);
    this.bodyRoom.release();
    this.#observation.note({
      requestId: this.requestId,
      clientRequestId: undefined,
      method: "WEBSOCKET",
      route: this.route,
      status,
      ms: performance.now() - this.startedAt,
      errorType: fault?.errorType,
      cause: fault?.cause,
      address: this.#loggedAddress,
    });
    // Refusals are counted for turns only; a frame that requests no generation is no turn.
    if (fault && this.#frame.generates) this.#connected.parts.refusals.note(this, this.door.name, fault, this.#read);
  }
}
