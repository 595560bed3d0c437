/** The HTTP/2 connections of a server, and how they end when it drains. */
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import { Http2ServerRequest, type Http2Session, type Http2Stream } from "node:http2";

export type RequestHandler = ReturnType<typeof connectNodeAdapter>;

export class Connections {
  readonly #endedByClients: ReadonlySet<string>;
  readonly #sessions = new Set<Http2Session>();
  /** Calls that their clients end, by connection; absent: none. */
  readonly #held = new Map<Http2Session, number>();
  readonly #calls = new WeakMap<Http2Session, number>();
  #draining = false;

  /** @param endedByClients paths */
  constructor(endedByClients: readonly string[]) {
    this.#endedByClients = new Set(endedByClients);
  }

  add(session: Http2Session): void {
    this.#sessions.add(session);
    session.on("close", () => this.#sessions.delete(session));
    session.on("stream", (stream: Http2Stream) => {
      this.#calls.set(session, (this.#calls.get(session) ?? 0) + 1);
      stream.once("close", () => this.#calls.set(session, (this.#calls.get(session) ?? 1) - 1));
    });
  }

  /** Ends a connection on which no call is open. */
  endIdle(session: Http2Session): void {
    if ((this.#calls.get(session) ?? 0) === 0) session.close();
  }

  noting(handle: RequestHandler): RequestHandler {
    return (request, response) => {
      if (request instanceof Http2ServerRequest && this.#endedByClients.has(request.url)) this.#hold(request);
      handle(request, response);
    };
  }

  /** No new calls, except on connections that are held: these go when the last call that holds them has ended. */
  drain(): void {
    this.#draining = true;
    for (const session of this.#sessions) if (!this.#held.has(session)) session.close();
  }

  #hold({ stream }: Http2ServerRequest): void {
    const { session } = stream;
    if (!session) return;
    this.#held.set(session, (this.#held.get(session) ?? 0) + 1);
    stream.once("close", () => {
      const left = (this.#held.get(session) ?? 0) - 1;
      if (left > 0) return void this.#held.set(session, left);
      this.#held.delete(session);
      if (this.#draining && !session.destroyed) session.close();
    });
  }
}
