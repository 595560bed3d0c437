/**
 * A session with a gateway in the same process: messages are passed as objects. Encoding, decoding and sockets would
 * take half of the processor time of a single request, and a fifth of it for a request of 20 KB under load (Node 20,
 * 2026-11-27).
 */
import type { SessionRequest, SessionResponse } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Link, LinkListener } from "@sluice/proto/lib/lane/link.js";
import type { MessageSink, ServerLane } from "./server-lane.ts";

export interface LocalSessionDeps {
  readonly log: Pick<Logger, "error">;
  /** Called before anything is sent to the gateway, to write what it will learn to the ledger first. */
  readonly beforeSending: () => void;
  /** Opens the lane, which sends its hello at once. */
  readonly openLane: (messages: MessageSink) => ServerLane;
  readonly closed: (lane: ServerLane) => void;
}

export class LocalSession implements Link {
  readonly #listener: LinkListener;
  readonly #deps: LocalSessionDeps;
  #lane: ServerLane | undefined;
  #isClosed = false;

  constructor(listener: LinkListener, deps: LocalSessionDeps) {
    this.#listener = listener;
    this.#deps = deps;
    // The listener gets its link only after this function returns.
    queueMicrotask(() => this.#open());
  }

  write(message: SessionRequest): boolean {
    try {
      this.#lane?.receive(message);
    } catch (error) {
      this.#break(error);
    }
    return true;
  }

  close(): void {
    this.#close(undefined);
  }

  #open(): void {
    if (this.#isClosed) return;
    this.#lane = this.#deps.openLane({ write: (message) => this.#send(message) });
  }

  /** Passes a message on. Always ready for more: each turn's credit bounds the data the gateway has not yet passed on. */
  #send(message: SessionResponse): boolean {
    if (this.#isClosed) return true;
    this.#deps.beforeSending();
    try {
      this.#listener.message(message);
    } catch (error) {
      this.#break(error);
    }
    return true;
  }

  /** Ends the session like a lost connection: the turns at both ends fail, and the gateway opens a new session. */
  #break(error: unknown): void {
    this.#deps.log.error({ err: error }, "the session within this process broke: its turns have failed");
    this.#close(error as Error);
  }

  #close(error: Error | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#lane) this.#deps.closed(this.#lane);
    this.#lane?.close();
    queueMicrotask(() => this.#listener.closed(error));
  }
}
