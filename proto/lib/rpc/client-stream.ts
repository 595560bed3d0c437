/** The client's end of a gRPC call, as a plain HTTP/2 stream on a separate connection. */
import { type ClientHttp2Stream, type IncomingHttpHeaders, connect } from "node:http2";
import { type Socket, connect as connectSocket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { TlsPeer } from "../tls/client.ts";
import { trustedWindowBytes } from "./admission.ts";
import { serviceTokenHeader } from "./caller.ts";
import { keepAlive } from "./keep-alive.ts";
import { type MessageListener, MessageSplitter } from "./message-splitter.ts";
import { type ServiceToken, tokenToSend } from "./service-token.ts";
import { maxMessageBytes } from "./serve.ts";
import { statusName } from "./status.ts";

export interface ClientStreamListener {
  /** Called with each message; an error thrown by it ends the call. */
  readonly message: MessageListener;
  /** Called when writing may resume after `write` returned false. */
  drained(): void;
  /**
   * Called exactly once, after the last message. @param error undefined when the server ended the call with status OK
   */
  closed(error: Error | undefined): void;
}

export interface ClientStreamOptions {
  /** Address of the server as host:port. */
  readonly address: string;
  readonly path: string;
  readonly token: ServiceToken;
  /** Expected identity of the server in its certificate; without it, the connection is in clear text. */
  readonly peer: TlsPeer | undefined;
}

const noStatus = "the connection was lost";

export class ClientStream {
  readonly #stream: ClientHttp2Stream;
  readonly #splitter: MessageSplitter;
  #head: IncomingHttpHeaders = {};
  /** Trailers, or the headers of an answer without messages. */
  #status: IncomingHttpHeaders = {};
  #failure: Error | undefined = undefined;

  constructor(options: ClientStreamOptions, listener: ClientStreamListener) {
    this.#splitter = new MessageSplitter(maxMessageBytes, listener.message);
    const session = openSession(options);
    const stream = session.request(headersOf(options));
    this.#stream = stream;
    stream.on("response", (headers) => (this.#head = this.#status = headers));
    stream.on("trailers", (headers) => (this.#status = headers));
    stream.on("data", this.#read);
    stream.on("drain", () => listener.drained());
    session.on("error", (error: Error) => this.#fail(error));
    stream.on("error", (error: Error) => this.#fail(error.cause instanceof Error ? error.cause : error));
    // The error of a connection may be reported after the end of its streams.
    stream.on("close", () => {
      session.close();
      setImmediate(() => listener.closed(this.#outcome()));
    });
  }

  /**
   * Sends bytes. @param bytes a message with its prefix, or a part of it. @returns false to request a pause until
   * `drained`
   */
  write(bytes: Uint8Array): boolean {
    return this.#stream.destroyed || this.#stream.write(bytes);
  }

  /** Closes the sending side; the server then ends the call. */
  end(): void {
    if (!this.#stream.destroyed) this.#stream.end();
  }

  readonly #read = (chunk: Buffer): void => {
    try {
      this.#splitter.push(chunk);
    } catch (error) {
      this.#stream.destroy(error as Error);
    }
  };

  #fail(error: Error): void {
    this.#failure ??= error;
  }

  #outcome(): Error | undefined {
    const { "grpc-status": status, "grpc-message": message } = this.#status;
    if (status === "0") return undefined;
    if (status !== undefined) {
      return new Error(`${String(status)} ${statusName(Number(status))}: ${String(message)}`);
    }
    const http = String(this.#head[":status"] ?? 200);
    if (http !== "200") return new Error(`HTTP status ${http}`);
    return this.#failure ?? new Error(noStatus);
  }
}

function openSession({ address, peer }: ClientStreamOptions) {
  // The host name in this URL is not used to connect; only the scheme matters.
  const session = connect(`${peer ? "https" : "http"}://sluice`, {
    createConnection: () => openSocket(address, peer),
    settings: { initialWindowSize: trustedWindowBytes, enablePush: false },
    // Node's limit of 10 MB would count messages that wait for the socket.
    maxSessionMemory: Number.MAX_SAFE_INTEGER,
  });
  session.once("connect", () => session.setLocalWindowSize(trustedWindowBytes));
  keepAlive(session);
  return session;
}

function openSocket(address: string, peer: TlsPeer | undefined): Socket {
  const colon = address.lastIndexOf(":");
  const at = { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
  return peer ? connectTls({ ...at, ...peer.connectionOptions(), ALPNProtocols: ["h2"] }) : connectSocket(at);
}

const headersOf = ({ path, token, address }: ClientStreamOptions) => ({
  ":method": "POST",
  ":path": path,
  ":authority": address,
  "content-type": "application/grpc",
  te: "trailers",
  [serviceTokenHeader]: tokenToSend(token),
});
