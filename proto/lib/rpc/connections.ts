/** HTTP/2 connections of a server, and how they end when it shuts down. */
import type { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Http2Session, Http2Stream } from "node:http2";

export type RequestHandler = ReturnType<typeof connectNodeAdapter>;

export class Connections {
  readonly #sessions = new Set<Http2Session>();
  /** Number of open calls per connection that only their clients end; absent for none. */
  readonly #held = new Map<Http2Session, number>();
  readonly #calls = new WeakMap<Http2Session, number>();
  #draining = false;

  add(session: Http2Session): void {
    this.#sessions.add(session);
    session.on("close", () => this.#sessions.delete(session));
    session.on("stream", (stream: Http2Stream) => {
      this.#calls.set(session, (this.#calls.get(session) ?? 0) + 1);
      stream.once("close", () => this.#calls.set(session, (this.#calls.get(session) ?? 1) - 1));
    });
  }

  /** Ends a connection that has no open calls. */
  endIdle(session: Http2Session): void {
    if ((this.#calls.get(session) ?? 0) === 0) session.close();
  }

  /** Refuses new calls. Connections with calls that only their clients end stay until the last of these calls. */
  drain(): void {
    this.#draining = true;
    for (const session of this.#sessions) if (!this.#held.has(session)) session.close();
  }

  /** Keeps the connection until the client has ended this call, as clients do during a shutdown. */
  hold(stream: Http2Stream): void {
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
