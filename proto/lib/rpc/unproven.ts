/**
 * HTTP/2 connections on which no valid service token or API key has been presented yet.
 *
 * To handle a stream takes about a millisecond, so a caller without a key could occupy a process. Such a connection may
 * open few streams per minute and few at the same time, and is closed when it opens more; new connections from its
 * address are then delayed for a while. An authenticated connection has none of these limits, whatever its address did
 * before.
 */
import { type ContextValues, type Interceptor, createContextKey, createContextValues } from "@connectrpc/connect";
import {
  Http2ServerRequest,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  constants,
} from "node:http2";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { FairShares } from "../load/fair-shares.ts";
import { Bucket, remainingUnits } from "../limits/bucket.ts";
import type { Logger } from "../log/log.ts";
import { networkOf } from "../limits/client-network.ts";
import type { RequestHandler } from "./connections.ts";
import { isServiceToken, serviceTokenHeader } from "./caller.ts";
import { peerAddress, peerAddressKey } from "./peer.ts";
import type { ServiceToken } from "./service-token.ts";

/**
 * Maximum number of streams per minute. A caller with a key authenticates with one of its first calls, and health
 * probes come less than once a second.
 */
const maxStreamsPerMinute = 200;
const maxStreamsPerMinutePenalized = 10;
export const maxConcurrentStreamsUnproven = 100;
export const maxConcurrentStreams = 4_096;
/** Milliseconds for which an address is penalized after its connection was closed for too many streams. */
const penaltyMs = 60_000;
/**
 * Delay in milliseconds before a new connection from a penalized address is read. A process of Sluice at that address
 * loses no more time than this.
 */
const connectDelayMs = 1_000;
/** Number of penalized addresses above which expired penalties are removed. */
const sweepFrom = 1_024;

const sessionKey = createContextKey<ServerHttp2Session | undefined>(undefined);

/** Context values with the connection of a call, for interceptors and handlers. */
export function connectionOf(request: IncomingMessage | Http2ServerRequest): ContextValues {
  const values = createContextValues().set(peerAddressKey, peerAddress(request));
  if (!(request instanceof Http2ServerRequest)) return values;
  return values.set(sessionKey, request.stream.session as ServerHttp2Session | undefined);
}

export interface UnprovenOptions {
  /** Service token; without it, no call counts as internal. */
  readonly token: ServiceToken | undefined;
  readonly log: Pick<Logger, "warn">;
}

export class UnprovenConnections {
  readonly #options: UnprovenOptions;
  readonly #shares = new FairShares();
  readonly #unproven = new WeakMap<ServerHttp2Session, Unproven>();
  /** End of the penalty of each address by performance.now(). */
  readonly #penalties = new Map<string, number>();

  constructor(options: UnprovenOptions) {
    this.#options = options;
  }

  /** Delays connections from penalized addresses. Call it before the server listens. */
  guard(server: Http2Server): void {
    const [accept] = server.listeners("connection") as ((socket: Socket) => void)[];
    if (!accept) return;
    server.off("connection", accept);
    server.on("connection", (socket: Socket) => {
      if (!this.#isPenalized(networkOf(socket.remoteAddress ?? ""))) return accept.call(server, socket);
      socket.on("error", () => {});
      setTimeout(() => socket.destroyed || accept.call(server, socket), connectDelayMs).unref();
    });
  }

  /** Adds a connection that has just opened. */
  add(session: ServerHttp2Session): void {
    const network = networkOf(session.socket?.remoteAddress ?? "");
    const limit = this.#isPenalized(network) ? maxStreamsPerMinutePenalized : maxStreamsPerMinute;
    const unproven = new Unproven(session, limit);
    this.#unproven.set(session, unproven);
    unproven.onStream((headers) => this.#note(unproven, network, headers));
  }

  inTurn(handle: RequestHandler): RequestHandler {
    return (request, response) => {
      if (request instanceof Http2ServerRequest) this.wait(request.stream, () => handle(request, response));
      else handle(request, response);
    };
  }

  /**
   * Handles a stream of an unauthenticated connection in a later turn of the event loop, unless it has been reset by
   * then. All such connections together have one fair share of the time. A stream of an authenticated connection is
   * handled at once.
   */
  wait(stream: ServerHttp2Stream, handle: () => void): void {
    // Node announces streams even of connections that are closed already.
    if (!stream.session) return;
    if (!this.#unproven.has(stream.session as ServerHttp2Session)) return handle();
    this.#shares.wait("", () => {
      if (!stream.destroyed && !stream.closed) handle();
    });
  }

  /** Marks a connection as authenticated after a successful call with a key. */
  readonly interceptor: Interceptor = (next) => async (request) => {
    const session = request.contextValues.get(sessionKey);
    const response = await next(request);
    if (!session || !this.#unproven.has(session) || request.service.typeName === Health.typeName) return response;
    if (!response.stream) {
      this.#prove(session);
      return response;
    }
    return { ...response, message: onFirst(response.message, () => this.#prove(session)) };
  };

  #note({ session, takes }: Unproven, network: string, headers: IncomingHttpHeaders): void {
    const { token, log } = this.#options;
    const shown = headers[serviceTokenHeader];
    if (token !== undefined && typeof shown === "string" && isServiceToken(shown, token)) return this.#prove(session);
    if (takes() || session.destroyed) return;
    if (this.#penalties.size >= sweepFrom) this.#sweep();
    this.#penalties.set(network, performance.now() + penaltyMs);
    log.warn({ name: network }, "a connection without a key was closed: it opened too many streams");
    session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #prove(session: ServerHttp2Session): void {
    const unproven = this.#unproven.get(session);
    if (!unproven || !this.#unproven.delete(session)) return;
    unproven.forget();
    if (!session.destroyed) session.settings({ maxConcurrentStreams });
  }

  #isPenalized(network: string): boolean {
    const until = this.#penalties.get(network);
    return until !== undefined && performance.now() < until;
  }

  #sweep(): void {
    const now = performance.now();
    for (const [network, until] of this.#penalties) if (until < now) this.#penalties.delete(network);
  }
}

/** An unauthenticated connection, and the number of streams that it may still open. */
class Unproven {
  readonly session: ServerHttp2Session;
  readonly #limit: number;
  readonly #bucket = new Bucket();
  #listener: ((stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) | undefined;

  constructor(session: ServerHttp2Session, limit: number) {
    this.session = session;
    this.#limit = limit;
  }

  onStream(listener: (headers: IncomingHttpHeaders) => void): void {
    this.#listener = (_stream, headers) => listener(headers);
    this.session.prependListener("stream", this.#listener);
  }

  /** Counts a stream. @returns false when the connection has opened too many */
  readonly takes = (): boolean => {
    const now = performance.now();
    if (remainingUnits(this.#limit, this.#bucket.aheadMs(now)) === 0) return false;
    this.#bucket.take(1, this.#limit, now);
    return true;
  };

  forget(): void {
    if (this.#listener) this.session.off("stream", this.#listener);
  }
}

async function* onFirst<T>(source: AsyncIterable<T>, listener: () => void): AsyncIterable<T> {
  let first = true;
  for await (const message of source) {
    if (first) listener();
    first = false;
    yield message;
  }
}
