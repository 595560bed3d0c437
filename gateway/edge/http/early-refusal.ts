/**
 * Refuses turns as they arrive on a socket, at less than half the cost of parsing them with Node first. At five times the sustainable load, four of
 * five requests are refused, and the time for refusals is missing for the rest. Turns are refused here only on connections with an earlier refusal,
 * and only if the received bytes certainly begin a request. All other bytes go to Node's parser unchanged. Listening for 'data' makes Node's parser
 * read the socket as a listener, too, for the life of the connection.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { firstPendingResponse } from "@sluice/proto/lib/http1/pending-responses.js";
import type { Pressure } from "@sluice/proto/lib/load/pressure.js";
import { maxSkippedBodyBytes, refusalText } from "./shed.ts";
import { countTurnBytes } from "./turn-head.ts";

export interface RefusalDecision extends Pick<Pressure, "overloaded"> {
  /** Whether to refuse a turn, by the key of this earlier request on the connection. */
  refuses(request: IncomingMessage): boolean;
}
type Parse = (bytes: Buffer) => void;

const earlyRefusal = Symbol("early refusal");
type RefusingSocket = Socket & { [earlyRefusal]?: EarlyRefusal };

/** Prepares the connection of a request that is about to be refused, so that its next request can be refused without parsing. */
export function refuseEarly(request: IncomingMessage, shedding: RefusalDecision): void {
  const socket: RefusingSocket = request.socket;
  const [parse, ...others] = socket.listeners("data") as Parse[];
  if (socket[earlyRefusal] || !parse || others.length > 0) return;
  const refusal = new EarlyRefusal(socket, parse, shedding, request);
  socket[earlyRefusal] = refusal;
  socket.on("data", refusal.read).off("data", parse);
}

/** Records a request whose head was parsed by Node. */
export function noteParsed(request: IncomingMessage): void {
  (request.socket as RefusingSocket)[earlyRefusal]?.parsed(request);
}

class EarlyRefusal {
  readonly #socket: Socket;
  readonly #parse: Parse;
  readonly #shedding: RefusalDecision;
  /** The request that Node parsed last. */
  #request: IncomingMessage;
  /** Number of bytes still missing from the current request; at 0, the next byte begins another request. Undefined when unknown. */
  #left: number | undefined;
  /** Whether the current request was refused here, so that the rest of its bytes is dropped. */
  #refused = false;

  constructor(socket: Socket, parse: Parse, shedding: RefusalDecision, request: IncomingMessage) {
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

  /** Drops the rest of a refused request. @returns the bytes after it */
  #passOver(bytes: Buffer): Buffer {
    const left = this.#left ?? 0;
    this.#left = Math.max(0, left - bytes.length);
    this.#refused = this.#left > 0;
    return bytes.subarray(left);
  }

  /** A proxy sends requests of several keys on one connection; a request with another key is left to Node's parser. */
  #isOfSameKey(bytes: Buffer): boolean {
    const { authorization, "x-api-key": other } = this.#request.headers;
    const key = authorization ?? other;
    return key === undefined || bytes.includes(String(key), 0, "latin1");
  }

  #mayRefuse({ length }: Buffer, turnBytes: number): boolean {
    if (this.#left !== 0 || length > turnBytes || turnBytes > maxSkippedBodyBytes) return false;
    // Answers must go out in order, and a client that does not read its answers gets no further one.
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
   * Passes a turn on to Node's parser. If the parser has finished its last request, the current request is as long as its head in these bytes says,
   * even if it began earlier: the head allows neither a second length nor chunks.
   */
  #handOnTurn(bytes: Buffer, turnBytes: number): void {
    const known = this.#left === 0 || this.#request.complete;
    this.#left = known && bytes.length <= turnBytes ? turnBytes - bytes.length : undefined;
    this.#parse(bytes);
  }
}
