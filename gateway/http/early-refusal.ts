/**
 * Refuses turns as they come off their socket, for less than half of what it costs to let Node's parser read them first. At five times the
 * load that can be served, four of five requests are refused, and time spent on refusals is missing for the rest.
 *
 * This happens on connections that were refused before, and while it is certain that the received bytes begin a request. Every other byte goes
 * to Node's parser unchanged: the parser reads a socket like any listener of 'data' once a second listener exists, and stays one for the life of
 * the connection.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { firstPendingResponse } from "@sluice/proto/runtime/http1/pending-responses.js";
import type { Pressure } from "@sluice/proto/runtime/load/pressure.js";
import { passedOverBytes, refusalText } from "./shed.ts";
import { countTurnBytes } from "./turn-head.ts";

export interface Shedding extends Pick<Pressure, "overloaded"> {
  /** Whether a turn of the same key is refused. */
  refuses(request: IncomingMessage): boolean;
}
type Parse = (bytes: Buffer) => void;

const earlyRefusal = Symbol("early refusal");
type RefusingSocket = Socket & { [earlyRefusal]?: EarlyRefusal };

/** Prepares the connection of a request that is about to be refused, so that its next request can be refused before it is parsed. */
export function refuseEarly(request: IncomingMessage, shedding: Shedding): void {
  const socket: RefusingSocket = request.socket;
  const [parse, ...others] = socket.listeners("data") as Parse[];
  if (socket[earlyRefusal] || !parse || others.length > 0) return;
  const refusal = new EarlyRefusal(socket, parse, shedding, request);
  socket[earlyRefusal] = refusal;
  socket.on("data", refusal.read).off("data", parse);
}

/** Takes note of a request whose head Node's parser has read. */
export function noteParsed(request: IncomingMessage): void {
  (request.socket as RefusingSocket)[earlyRefusal]?.parsed(request);
}

class EarlyRefusal {
  readonly #socket: Socket;
  readonly #parse: Parse;
  readonly #shedding: Shedding;
  /** The request whose head was parsed last. */
  #request: IncomingMessage;
  /** Bytes of the present request that are still to come: at 0 the next byte begins another request. Undefined when unknown. */
  #left: number | undefined;
  /** Whether the present request was refused here, so that the rest of its bytes is dropped. */
  #refused = false;

  constructor(socket: Socket, parse: Parse, shedding: Shedding, request: IncomingMessage) {
    this.#socket = socket;
    this.#parse = parse;
    this.#shedding = shedding;
    this.#request = request;
  }

  parsed(request: IncomingMessage): void {
    this.#request = request;
  }

  readonly read = (bytes: Buffer): void => {
    const rest = this.#refused ? this.#passOver(bytes) : bytes;
    if (rest.length === 0) return;
    const turnBytes =
      this.#shedding.overloaded && !this.#left && this.#isOfSameKey(rest) ? countTurnBytes(rest) : undefined;
    if (turnBytes === undefined) this.#handOn(rest);
    else if (this.#mayRefuse(rest, turnBytes)) this.#refuse(rest, turnBytes);
    else this.#handOnTurn(rest, turnBytes);
  };

  /** @returns what follows the request that was refused */
  #passOver(bytes: Buffer): Buffer {
    const left = this.#left ?? 0;
    this.#left = Math.max(0, left - bytes.length);
    this.#refused = this.#left > 0;
    return bytes.subarray(left);
  }

  /** A proxy sends requests of several keys on one connection; a request of another key is left to Node's parser. */
  #isOfSameKey(bytes: Buffer): boolean {
    const { authorization, "x-api-key": other } = this.#request.headers;
    const key = authorization ?? other;
    return key === undefined || bytes.includes(String(key), 0, "latin1");
  }

  #mayRefuse({ length }: Buffer, turnBytes: number): boolean {
    if (this.#left !== 0 || length > turnBytes || turnBytes > passedOverBytes) return false;
    // Answers go out in order, and none is written to a client that does not read.
    return (
      !firstPendingResponse(this.#socket) && this.#socket.writableLength === 0 && this.#shedding.refuses(this.#request)
    );
  }

  #refuse({ length }: Buffer, turnBytes: number): void {
    this.#socket.write(refusalText(), "latin1");
    this.#left = turnBytes - length;
    this.#refused = this.#left > 0;
  }

  #handOn(bytes: Buffer): void {
    this.#left = this.#left && this.#left >= bytes.length ? this.#left - bytes.length : undefined;
    this.#parse(bytes);
  }

  /**
   * When the parser had read its last request to the end, the request that it finds now ends where the head in these bytes says, even if it began
   * before them: a second length, or chunks, would be an error.
   */
  #handOnTurn(bytes: Buffer, turnBytes: number): void {
    const known = this.#left === 0 || this.#request.complete;
    this.#left = known && bytes.length <= turnBytes ? turnBytes - bytes.length : undefined;
    this.#parse(bytes);
  }
}
