/**
 * A WebSocket connection for responses, one after another; the events of each are sent as frames. The connection remembers its last response, so that
 * the next frame needs only the new items. The memory for it is reserved like a request's, and released when the connection closes.
 */
import type { Socket } from "node:net";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { setInUse } from "@sluice/proto/lib/http1/pending-responses.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { isKeyRefusal } from "@sluice/proto/lib/policy/allowed-networks.js";
import type { WebSocket } from "ws";
import { type CallConnection, SocketCall } from "./call.ts";
import type { SocketTurn } from "./turn.ts";
import { readInputItems } from "../items.ts";
import { type CreateFrame, errorFrame, readFrame, unknownPreviousResponse } from "./frame.ts";

/** Maximum number of frames that wait while a response runs. */
const maxWaiting = 16;
/** Interval of pings in milliseconds. A client that sends nothing between two pings, not even an answer, is taken for gone. */
const pingMs = 30_000;

/** WebSocket close codes of RFC 6455 and of IANA's registry. */
const closing = { goingAway: 1_001, policy: 1_008, tryAgainLater: 1_013 } as const;

/** The response from which the next frame can continue. */
interface Remembered {
  readonly id: string;
  /** JSON of the response's input and output items, joined by commas. */
  readonly items: string;
  /** Whether the items must not be stored. */
  readonly isUnstored: boolean;
}

const crowded = () =>
  new Fault(FaultReason.RATE_LIMITED, `At most ${maxWaiting} requests wait on a connection`, {
    origin: FaultOrigin.GATEWAY,
  });
const binary = () => new Fault(FaultReason.INVALID_REQUEST, "frame: must be text", { origin: FaultOrigin.CLIENT });

const joinNonEmpty = (...items: readonly string[]): string => items.filter((each) => each !== "").join(",");

export class ResponseSocket {
  readonly #connected: CallConnection;
  readonly #socket: WebSocket;
  readonly #stream: Socket;
  /** Memory reserved for incomplete and waiting frames. */
  readonly #receiving: Reservation;
  /** Memory reserved for the remembered response. */
  readonly #memory: Reservation;
  readonly #waiting: CreateFrame[] = [];
  readonly #pings: NodeJS.Timeout;
  #remembered: Remembered | undefined = undefined;
  #running: SocketCall | undefined = undefined;
  #isAlive = true;
  #full = false;

  constructor(connected: CallConnection, socket: WebSocket) {
    const { parts, request, keyHash } = connected;
    this.#connected = connected;
    this.#socket = socket;
    this.#stream = request.socket;
    this.#receiving = parts.budget.open(keyHash);
    this.#memory = parts.budget.open(keyHash);
    this.#pings = setInterval(() => this.#ping(), pingMs).unref();
    this.#listen();
  }

  /** Closes the connection, after the end of a running response. */
  drain(): void {
    if (!this.#running) this.#socket.close(closing.goingAway, "The gateway is stopping");
  }

  #listen(): void {
    this.#stream.on("data", (bytes: Buffer) => this.#arrived(bytes.length));
    this.#stream.on("drain", () => this.#drained());
    this.#socket.on("message", (data, isBinary) => this.#message(data as Buffer, isBinary));
    this.#socket.on("pong", () => {
      this.#isAlive = true;
    });
    // An error of the WebSocket protocol needs no handling here: the library closes the connection.
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.#closed());
  }

  #arrived(bytes: number): void {
    this.#isAlive = true;
    if (!this.#receiving.tryGrow(bytes)) this.#socket.close(closing.tryAgainLater, "No memory is free");
  }

  #message(bytes: Buffer, isBinary: boolean): void {
    try {
      if (isBinary) throw binary();
      const frame = readFrame(bytes);
      if (!frame) return this.#running?.turn?.cancel();
      if (this.#waiting.length >= maxWaiting) throw crowded();
      this.#waiting.push(frame);
      if (!this.#running) this.#next();
    } catch (error) {
      this.#socket.send(errorFrame(Fault.from(error), newId("req_")));
    }
  }

  /** Begins the response to the first waiting frame. */
  #next(): void {
    const frame = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#receiving.shrink(this.#receiving.bytes);
    if (!frame) return;
    const call = new SocketCall(this.#connected, frame, {
      wholeInput: () => this.#wholeInput(frame),
      continuesUnstored: frame.previousId !== undefined && this.#remembered?.isUnstored === true,
      send: (frames) => this.#send(frames),
      finished: (fault, refused) => {
        if (call.turn && !fault) this.#remember(call, call.turn);
        else this.#forget(frame);
        this.#finish(call, fault, refused);
      },
    });
    this.#running = call;
    setInUse(this.#stream, true);
    call.answer().catch((error: unknown) => {
      this.#forget(frame);
      this.#finish(call, Fault.from(error), true);
    });
  }

  /** JSON of a frame's items, preceded by the items of the response that it continues. @throws Fault INVALID_REQUEST */
  #wholeInput(frame: CreateFrame): string {
    const { bytes, members, previousId } = frame;
    if (previousId === undefined) return readInputItems(bytes, members);
    if (this.#remembered?.id !== previousId) throw unknownPreviousResponse(previousId);
    return joinNonEmpty(this.#remembered.items, readInputItems(bytes, members));
  }

  /** Remembers a response if memory is free. If not, the client has to send all items again. */
  #remember({ input, isUnstored }: SocketCall, turn: SocketTurn): void {
    const items = joinNonEmpty(input, turn.items);
    this.#memory.shrink(this.#memory.bytes);
    const hasRoom = this.#memory.tryGrow(Buffer.byteLength(items));
    this.#remembered = hasRoom ? { id: turn.id, items, isUnstored } : undefined;
  }

  /** Forgets the response that a failed frame continued: clients expect to send all items again after a failure. */
  #forget({ previousId }: CreateFrame): void {
    if (previousId === undefined || previousId !== this.#remembered?.id) return;
    this.#memory.shrink(this.#memory.bytes);
    this.#remembered = undefined;
  }

  #send(frames: readonly string[]): void {
    for (const frame of frames) this.#socket.send(frame);
    if (!this.#stream.writableNeedDrain || this.#full) return;
    this.#full = true;
    this.#running?.turn?.pause();
  }

  #drained(): void {
    if (!this.#full) return;
    this.#full = false;
    this.#running?.turn?.resume();
  }

  /** Ends a response. @param refused whether the client has received no event of it */
  #finish(call: SocketCall, fault: Fault | undefined, refused: boolean): void {
    if (this.#running !== call) return;
    this.#running = undefined;
    setInUse(this.#stream, false);
    call.end(fault, fault?.status ?? 200);
    if (fault && refused) this.#socket.send(errorFrame(fault, call.requestId));
    if (fault && isKeyRefusal(fault)) this.#socket.close(closing.policy, fault.message);
    else if (this.#connected.parts.lifecycle.draining) this.drain();
    else this.#next();
  }

  #ping(): void {
    if (!this.#isAlive) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
  }

  #closed(): void {
    clearInterval(this.#pings);
    const running = this.#running;
    this.#running = undefined;
    this.#waiting.length = 0;
    running?.end(undefined, 499);
    this.#receiving.release();
    this.#memory.release();
  }
}
