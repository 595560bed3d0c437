/** The server's end of a gRPC call, as a plain HTTP/2 stream. */
import { type OutgoingHttpHeaders, type ServerHttp2Stream, constants } from "node:http2";
import { type MessageListener, MessageSplitter } from "./message-splitter.ts";
import { statusHeaders } from "./status.ts";

export const grpcType = "application/grpc";

export interface ServerStreamListener {
  /** Called with each message; an error thrown by it becomes the status of the call. */
  readonly message: MessageListener;
  /** Called when writing may resume after `write` returned false. */
  drained(): void;
  /** Called exactly once: when the client ends or resets the call or disconnects, or after an error. */
  closed(error: unknown): void;
}

const head: OutgoingHttpHeaders = { ":status": 200, "content-type": grpcType, "grpc-accept-encoding": "identity" };

export class ServerStream {
  readonly #stream: ServerHttp2Stream;
  readonly #listener: ServerStreamListener;
  readonly #splitter: MessageSplitter;
  #closed = false;
  #failure: unknown;

  constructor(stream: ServerHttp2Stream, maxBytes: number, listener: ServerStreamListener) {
    this.#stream = stream;
    this.#listener = listener;
    this.#splitter = new MessageSplitter(maxBytes, listener.message);
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => this.#sendStatus());
    stream.on("data", this.#read);
    stream.on("drain", () => this.#listener.drained());
    stream.on("error", () => {});
    stream.on("end", () => this.#close(undefined));
    stream.on("close", () => this.#close(undefined));
  }

  /**
   * Sends bytes; after the end of the call they are dropped. @param bytes a message with its prefix. @returns false to
   * request a pause until `drained`
   */
  write(bytes: Uint8Array): boolean {
    return this.#closed || this.#stream.destroyed || this.#stream.write(bytes);
  }

  readonly #read = (chunk: Buffer): void => {
    if (this.#closed) return;
    try {
      this.#splitter.push(chunk);
    } catch (error) {
      this.#failure = error;
      this.#close(error);
    }
  };

  #close(error: unknown): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listener.closed(error);
    if (!this.#stream.destroyed) this.#stream.end();
  }

  #sendStatus(): void {
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (this.#failure === undefined) return stream.sendTrailers({ "grpc-status": "0" });
    stream.sendTrailers(statusHeaders(this.#failure));
    // Delayed, so the client reads the status before it is made to stop sending.
    setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
  }
}

/** Refuses a call with a status, without reading its messages. */
export function refuse(stream: ServerHttp2Stream, error: unknown): void {
  stream.on("error", () => {});
  stream.respond({ ...head, ...statusHeaders(error) }, { endStream: true });
  // Delayed, so the client reads the status before it is made to stop sending.
  setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
}
