/**
 * A connection to one server over HTTP/1.1, for one request at a time. It has one set of listeners for all its requests, and opens
 * another socket by itself when the server has closed the last between two requests.
 */
import type { Socket } from "node:net";
import { MessageBuffer } from "@sluice/proto/lib/http1/message-buffer.js";
import { ConnectionError } from "./connection-error.ts";
import type { Egress } from "../egress.ts";
import type { Dialer } from "./dial.ts";
import type { ResponseHead } from "./response-head.ts";
import { ResponseParser, type ResponseSink } from "./response-parser.ts";

export interface Request {
  /** Request line and fields, without the length of the body and the empty line. */
  readonly head: string;
  /** Empty for requests without a body. */
  readonly body: string;
}

/** Receives the response of one request. Nothing is called after an end, an error, or `Connection.close`. */
export interface ResponseHandler {
  /** From here on the request may reach the server. */
  onRequestStart(): void;
  /** The final response, not an informational response. */
  onResponseStart(head: ResponseHead): void;
  /** @param bytes valid during the call only */
  onResponseData(bytes: Buffer): void;
  onResponseEnd(): void;
  onResponseError(error: Error): void;
}

/** Called when a connection changes its state. */
export interface ConnectionOwner {
  /**
   * The connection can carry another request.
   * @param keepAliveSeconds seconds until the server closes it; infinite when the server gave no time
   */
  released(connection: Connection, keepAliveSeconds: number): void;
  /** The connection has neither a socket nor a request. */
  closed(connection: Connection): void;
}

export interface ConnectionSettings {
  readonly dialer: Dialer;
  readonly connectMs: number;
  readonly owner: ConnectionOwner;
  readonly egress: Pick<Egress, "noteAnswer" | "noteFailure">;
}

const messages = new MessageBuffer();

/** Reused connections with a request to write. */
let reused: Connection[] = [];

/**
 * Writes requests after the event loop has polled its sockets, so no request goes to a connection closed by the server, or with received
 * bytes that belong to no request. One callback writes all requests of a turn of the loop.
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
  /** The request not written yet. */
  #request: Request | undefined;
  #connectTimer: NodeJS.Timeout | undefined;
  #isConnected = false;
  #head: ResponseHead | undefined;
  #isPaused = false;
  /** End of the usable time of an idle connection, by performance.now(). */
  idleUntilMs = 0;

  constructor({ dialer, connectMs, owner, egress }: ConnectionSettings) {
    this.#dialer = dialer;
    this.#connectMs = connectMs;
    this.#owner = owner;
    this.#egress = egress;
  }

  /** Sends a request. The connection must be new, or released. */
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

  /** Nothing more is read until `resume`; bytes already received may still come. */
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
    // "close" comes after the callbacks for writing requests, so a request would be written to a reset socket.
    socket.on("error", (error) => this.#lose(socket, error));
    socket.on("end", () => this.#lose(socket));
    socket.on("close", () => this.#lose(socket));
    this.#parser = parser;
    this.#socket = socket;
    this.#connectTimer = setTimeout(() => this.#expire(socket), this.#connectMs);
  }

  /** A connection established while the process was busy is seen before its time is over. */
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
    // An ASCII body becomes one string with its head, without a buffer.
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

  /** A server that answers before the end of the request might read the rest of it as another request. */
  #release(head: ResponseHead): void {
    const socket = this.#socket;
    this.#head = undefined;
    if (socket === undefined) return;
    if (!head.keepsAlive) return this.close();
    if (socket.writableLength === 0) return this.#keep(socket, head);
    if (!("encrypted" in socket)) return this.close();
    // An encrypted request counts as unwritten until an immediate after its write, and the response may be there earlier.
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

  /** The server has closed the socket, or it broke. */
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
    // Nothing of the request was written to the reused connection, so it goes to another socket.
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

/** Servers that close right after a response may reset the connection with a part of the request unread. */
const isEnd = (error: NodeJS.ErrnoException | undefined): boolean => error === undefined || error.code === "ECONNRESET";
