/**
 * Refuses turns as they come off their socket, for less than half of what it costs to have Node's parser read them first: of five times the load
 * that a house can serve four fifths are to be refused, and what that costs the others go without.
 *
 * Only on connections that were refused before, and only while it is known that the bytes which have come begin a request. Everything else is
 * handed to Node's parser as it came. It reads a socket like any listener of 'data' once there is another one, and stays one for as long as the
 * connection lives.
 */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { firstOwed } from "@sluice/proto/runtime/http1/owed.js";
import type { Pressure } from "@sluice/proto/runtime/pressure.js";
import { passedOverBytes, shedText } from "./shed.ts";
import { bytesOfTurn } from "./turn-head.ts";

export interface Door extends Pick<Pressure, "overloaded"> {
  /** Whether a turn of this key is refused. */
  refuses(authorization: string | undefined): boolean;
}
type Parse = (bytes: Buffer) => void;

const earlyRefusal = Symbol("early refusal");
type RefusingSocket = Socket & { [earlyRefusal]?: EarlyRefusal };

/** For a request that is about to be refused: the next one on its connection need not come as far. */
export function refuseEarly(request: IncomingMessage, door: Door): void {
  const socket: RefusingSocket = request.socket;
  const [parse, ...others] = socket.listeners("data") as Parse[];
  if (socket[earlyRefusal] || !parse || others.length > 0) return;
  const refusal = new EarlyRefusal(socket, parse, door, request);
  socket[earlyRefusal] = refusal;
  socket.on("data", refusal.read).off("data", parse);
}

/** To be told of every request that Node's parser has read the head of. */
export function parsed(request: IncomingMessage): void {
  (request.socket as RefusingSocket)[earlyRefusal]?.parsed(request);
}

class EarlyRefusal {
  readonly #socket: Socket;
  readonly #parse: Parse;
  readonly #door: Door;
  /** The one whose head was parsed last. */
  #request: IncomingMessage;
  /** How much of the present request is still to come: with 0 the next byte begins another one. Undefined when that is not known. */
  #left: number | undefined;
  /** The present request was refused here, and what is left of it concerns nobody. */
  #refused = false;

  constructor(socket: Socket, parse: Parse, door: Door, request: IncomingMessage) {
    this.#socket = socket;
    this.#parse = parse;
    this.#door = door;
    this.#request = request;
  }

  parsed(request: IncomingMessage): void {
    this.#request = request;
  }

  readonly read = (bytes: Buffer): void => {
    const rest = this.#refused ? this.#passOver(bytes) : bytes;
    if (rest.length === 0) return;
    const turnBytes = this.#door.overloaded && !this.#left && this.#isOfSameKey(rest) ? bytesOfTurn(rest) : undefined;
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

  /** A proxy sends requests of several keys on one connection: that of another one is Node's to read. */
  #isOfSameKey(bytes: Buffer): boolean {
    const { authorization } = this.#request.headers;
    return authorization === undefined || bytes.includes(authorization, 0, "latin1");
  }

  #mayRefuse({ length }: Buffer, turnBytes: number): boolean {
    if (this.#left !== 0 || length > turnBytes || turnBytes > passedOverBytes) return false;
    // Answers go out in order, and none to a client that does not read.
    return (
      !firstOwed(this.#socket) &&
      this.#socket.writableLength === 0 &&
      this.#door.refuses(this.#request.headers.authorization)
    );
  }

  #refuse({ length }: Buffer, turnBytes: number): void {
    this.#socket.write(shedText(), "latin1");
    this.#left = turnBytes - length;
    this.#refused = this.#left > 0;
  }

  #handOn(bytes: Buffer): void {
    this.#left = this.#left && this.#left >= bytes.length ? this.#left - bytes.length : undefined;
    this.#parse(bytes);
  }

  /**
   * If the parser had read its last request to the end, then the one that it finds now ends where the head in these bytes says, even if it began
   * before them: a second length, or chunks, would be an error.
   */
  #handOnTurn(bytes: Buffer, turnBytes: number): void {
    const known = this.#left === 0 || this.#request.complete;
    this.#left = known && bytes.length <= turnBytes ? turnBytes - bytes.length : undefined;
    this.#parse(bytes);
  }
}
