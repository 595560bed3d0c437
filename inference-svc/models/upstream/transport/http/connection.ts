/**
 * An HTTP/1.1 connection to one server, for one request at a time. It has one set of listeners for all its requests,
 * and opens another socket itself if the server has closed the last one between two requests.
 */
import type { Socket } from "node:net";
import { MessageBuffer } from "@sluice/proto/lib/http1/message-buffer.js";
import { ConnectionError } from "./connection-error.ts";
import type { Egress } from "../egress.ts";
import type { Dialer } from "./dial.ts";
import type { ResponseHead } from "./response-head.ts";
import { ResponseParser, type ResponseSink } from "./response-parser.ts";

export interface Request {
  /** Request line and header fields, without the length of the body and the empty line. */
  readonly head: string;
  /** Body of the request; empty when it has none. */
  readonly body: string;
}

/** Receives the response to one request. Nothing is called after the end, after an error, or after `Connection.close`. */
export interface ResponseHandler {
  /** Called when the request is about to be written, so it may reach the server. */
  onRequestStart(): void;
  /** Called with the head of the final response; informational responses are skipped. */
  onResponseStart(head: ResponseHead): void;
  /** @param bytes valid only during the call */
  onResponseData(bytes: Buffer): void;
  onResponseEnd(): void;
  onResponseError(error: Error): void;
}

/** Called when a connection changes its state. */
export interface ConnectionOwner {
  /**
   * Called when the connection can carry another request.
   * @param keepAliveSeconds seconds until the server closes the connection; infinite when the server stated no time
   */
  released(connection: Connection, keepAliveSeconds: number): void;
  /** Called when the connection has neither a socket nor a request any more. */
  closed(connection: Connection): void;
}

export interface ConnectionSettings {
  readonly dialer: Dialer;
  readonly connectMs: number;
  readonly owner: ConnectionOwner;
  readonly egress: Pick<Egress, "noteAnswer" | "noteFailure">;
}

const messages = new MessageBuffer();

/** Reused connections whose request waits to be written. */
let reused: Connection[] = [];

/**
 * Writes requests after the event loop has polled its sockets, so no request is written to a connection the server has
 * closed, or with received bytes that belong to no request. One callback writes all requests of a turn of the loop.
 */
function writeAfterPoll(connection: Connection): void {
  if (reused.push(connection) > 1) return;
  setImmediate(() => {
    const connections = reused;
    reused = [];
    for (const waiting of connections) waiting.proceed();
  });
}

export class Connection implements ResponseSink {
  readonly #dialer: Dialer;
  readonly #connectMs: number;
  readonly #owner: ConnectionOwner;
  readonly #egress: ConnectionSettings["egress"];
  #socket: Socket | undefined;
  #parser: ResponseParser | undefined;
  #handler: ResponseHandler | undefined;
  /** The request, as long as it is not written. */
  #request: Request | undefined;
  #connectTimer: NodeJS.Timeout | undefined;
  #isConnected = false;
  #head: ResponseHead | undefined;
  #isPaused = false;
  /** performance.now() until which the connection may stay idle. */
  idleUntilMs = 0;

  constructor({ dialer, connectMs, owner, egress }: ConnectionSettings) {
    this.#dialer = dialer;
    this.#connectMs = connectMs;
    this.#owner = owner;
    this.#egress = egress;
  }

  /** Sends a request. The connection must be new or released. */
  send(request: Request, handler: ResponseHandler): void {
    this.#request = request;
    this.#handler = handler;
    if (this.#socket === undefined) return this.#open();
    this.#socket.ref();
    writeAfterPoll(this);
  }

  /** Writes the waiting request, to a new socket if the old one was closed meanwhile. */
  proceed(): void {
    if (this.#request === undefined) return;
    if (this.#socket === undefined) this.#open();
    else this.#write(this.#socket, this.#request);
  }

  /** Pauses reading until `resume`; bytes already received may still arrive. */
  pause(): void {
    this.#isPaused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket?.resume();
  }

  /** Closes the socket at once. The handler is not called. */
  close(): void {
    this.#handler = undefined;
    this.#request = undefined;
    this.#drop();
    this.#owner.closed(this);
  }

  #open(): void {
    const parser = new ResponseParser(this);
    const socket = this.#dialer.dial(
      (bytes) => this.#read(parser, bytes),
      () => this.#connected(socket),
    );
    // The event "close" comes after the callbacks that write requests, so a request would be written to a reset socket.
    socket.on("error", (error) => this.#lose(socket, error));
    socket.on("end", () => this.#lose(socket));
    socket.on("close", () => this.#lose(socket));
    this.#parser = parser;
    this.#socket = socket;
    this.#connectTimer = setTimeout(() => this.#expire(socket), this.#connectMs);
  }

  /** Ends the wait for a connection. One that was established while the process was busy is noticed before its time is over. */
  #expire(socket: Socket): void {
    setImmediate(() => {
      if (this.#socket !== socket || this.#isConnected) return;
      socket.destroy(new ConnectionError("ERR_CONNECT_TIMEOUT", `no connection in ${this.#connectMs} ms`));
    });
  }

  #connected(socket: Socket): void {
    if (this.#socket !== socket) return;
    clearTimeout(this.#connectTimer);
    this.#connectTimer = undefined;
    this.#isConnected = true;
    this.proceed();
  }

  #write(socket: Socket, { head, body }: Request): void {
    this.#request = undefined;
    this.#parser!.isExpecting = true;
    this.#handler?.onRequestStart();
    // The handler may have closed the connection.
    if (this.#socket !== socket) return;
    if (body !== "" && messages.write(socket, head, body)) return;
    const bytes = Buffer.byteLength(body);
    const whole = body === "" ? `${head}\r\n` : `${head}content-length: ${bytes}\r\n\r\n`;
    // An ASCII body is joined to its head as one string, without a buffer.
    if (bytes === body.length) return void socket.write(whole + body, "latin1");
    socket.cork();
    socket.write(whole, "latin1");
    socket.write(body, "utf8");
    socket.uncork();
  }

  #read(parser: ResponseParser, bytes: Buffer): void {
    try {
      parser.feed(bytes);
    } catch (error) {
      return this.#fail(error as Error);
    }
    if (this.#head !== undefined && this.#handler === undefined) this.#release(this.#head);
  }

  head(head: ResponseHead): void {
    this.#egress.noteAnswer();
    this.#head = head;
    this.#handler?.onResponseStart(head);
  }

  data(bytes: Buffer): void {
    this.#handler?.onResponseData(bytes);
  }

  end(): void {
    const handler = this.#handler;
    this.#handler = undefined;
    handler?.onResponseEnd();
  }

  /**
   * Releases the connection. It is closed if the server answered before the end of the request: the server might read
   * the rest as another request.
   */
  #release(head: ResponseHead): void {
    const socket = this.#socket;
    this.#head = undefined;
    if (socket === undefined) return;
    if (!head.keepsAlive) return this.close();
    if (socket.writableLength === 0) return this.#keep(socket, head);
    if (!("encrypted" in socket)) return this.close();
    // An encrypted request counts as unwritten until an immediate after its write, and the response may come earlier.
    setImmediate(() => this.#releaseWritten(socket, head));
  }

  #releaseWritten(socket: Socket, head: ResponseHead): void {
    if (this.#socket !== socket) return;
    if (socket.writableLength > 0) return this.close();
    this.#keep(socket, head);
  }

  #keep(socket: Socket, { keepAliveSeconds }: ResponseHead): void {
    this.resume();
    socket.unref();
    this.#owner.released(this, keepAliveSeconds);
  }

  /** Handles a socket the server has closed, or that broke. */
  #lose(socket: Socket, error?: NodeJS.ErrnoException): void {
    if (this.#socket !== socket) return;
    if (this.#parser!.endsWithConnection && isEnd(error)) {
      this.#parser!.finish();
      return this.close();
    }
    const failure = error ?? new ConnectionError("ERR_CONNECTION_CLOSED", "connection closed by the server");
    if (!this.#isConnected) this.#egress.noteFailure((ready) => this.#dialer.dial(() => {}, ready), failure);
    this.#fail(failure);
  }

  #fail(error: Error): void {
    // Nothing of the request was written to the reused connection, so another socket is used.
    if (this.#request !== undefined && this.#isConnected) return this.#drop();
    const handler = this.#handler;
    this.close();
    handler?.onResponseError(error);
  }

  #drop(): void {
    clearTimeout(this.#connectTimer);
    this.#parser?.stop();
    this.#socket?.destroy();
    this.#parser = undefined;
    this.#socket = undefined;
    this.#head = undefined;
    this.#isConnected = false;
    this.#isPaused = false;
  }
}

/**
 * Whether the connection ended normally. Servers that close right after a response may reset the connection while a
 * part of the request is unread.
 */
const isEnd = (error: NodeJS.ErrnoException | undefined): boolean => error === undefined || error.code === "ECONNRESET";
