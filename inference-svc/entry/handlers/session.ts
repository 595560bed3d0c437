/** Session: serves one stream with many turns of one of Sluice's gateways. */
import type { ServerHttp2Stream } from "node:http2";
import type { Open, SessionResponse } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Hindrances } from "@sluice/proto/lib/process/hindrances.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { type ServerStreamListener, ServerStream } from "@sluice/proto/lib/rpc/server-stream.js";
import { maxMessageBytes } from "@sluice/proto/lib/rpc/serve.js";
import { decodeSessionRequest } from "@sluice/proto/lib/lane/decode-request.js";
import { encodeSessionResponse } from "@sluice/proto/lib/lane/encode-response.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { timeLimits } from "@sluice/proto/lib/time/timer-wheel.js";
import type { Engine, Pipeline } from "../../engine/engine.ts";
import { LocalSession } from "../lane/local-session.ts";
import { type MessageSink, ServerLane, type TurnRunner } from "../lane/server-lane.ts";
import type { ServerTurn } from "../lane/server-turn.ts";
import { type TimeLimits, deadlineExceeded, timeLimitMs } from "./time-limit.ts";

export interface SessionDeps {
  readonly engine: Engine;
  readonly pipeline: Pipeline;
  readonly config: TimeLimits;
  readonly log: Pick<Logger, "error" | "warn">;
  /** Name of this process in the hello message to gateways. */
  readonly instance: string;
  readonly hindrances: Pick<Hindrances, "current" | "onChange">;
  /** Called before anything is sent to a client, to write what it will learn to the ledger first. */
  readonly beforeSending: () => void;
}

type StreamDeps = Pick<SessionDeps, "log" | "beforeSending">;

const cancelAtDeadline = (turn: ServerTurn): void => turn.cancel(deadlineExceeded());

export class SessionHandler implements TurnRunner {
  readonly #deps: SessionDeps;
  readonly #lanes = new Set<ServerLane>();
  #draining = false;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
    deps.hindrances.onChange(() => {
      for (const lane of this.#lanes) lane.hinder(deps.hindrances.current);
    });
  }

  /** Tells every gateway to open no more turns. */
  drain(): void {
    this.#draining = true;
    for (const lane of this.#lanes) lane.drain();
  }

  /** Serves the stream of an authenticated gateway. */
  readonly serve = (stream: ServerHttp2Stream): void => {
    const session = new Session(stream, this.#deps, this.#openLane);
    stream.once("close", () => this.#lanes.delete(session.lane));
  };

  /** Opens a session to a gateway of this process. */
  readonly connectHere: Connect = (listener) =>
    new LocalSession(listener, {
      log: this.#deps.log,
      beforeSending: this.#deps.beforeSending,
      openLane: this.#openLane,
      closed: (lane) => this.#lanes.delete(lane),
    });

  readonly #openLane = (messages: MessageSink): ServerLane => {
    const { instance, hindrances } = this.#deps;
    const lane = new ServerLane({
      instance,
      draining: this.#draining,
      hindrance: hindrances.current,
      messages,
      runner: this,
    });
    this.#lanes.add(lane);
    return lane;
  };

  run(open: Open, turn: ServerTurn): Promise<void> {
    const { request, keyHash, requestId, generationId, policyGeneration } = open;
    if (!request) return Promise.reject(new Fault(FaultReason.INTERNAL));
    const limitMs = open.deadlineMs > 0 ? open.deadlineMs : timeLimitMs(this.#deps.config, request);
    turn.limit = timeLimits.start(limitMs, cancelAtDeadline, turn);
    const deadline = performance.now() + limitMs;
    const { traceparent, tracestate } = open;
    const trace = { traceparent, tracestate };
    const requester = { keyHash, requestId, generationId, policyGeneration, deadline, trace, scanned: true };
    return this.#deps.engine.run(request, requester, turn, this.#deps.pipeline);
  }
}

/** The stream of one gateway, and its lane. */
class Session implements MessageSink, ServerStreamListener {
  readonly #stream: ServerStream;
  readonly #deps: StreamDeps;
  readonly lane: ServerLane;

  /** @param openLane opens the lane, which sends its hello at once */
  constructor(stream: ServerHttp2Stream, deps: StreamDeps, openLane: (messages: MessageSink) => ServerLane) {
    this.#deps = deps;
    this.#stream = new ServerStream(stream, maxMessageBytes, this);
    this.lane = openLane(this);
  }

  readonly message = (bytes: Buffer, start: number, end: number): void =>
    this.lane.receive(decodeSessionRequest(bytes, start, end));

  drained(): void {
    this.lane.outbox.drained();
  }

  closed(error: unknown): void {
    if (error !== undefined) this.#deps.log.warn({ err: error }, "a session was ended: its client broke the protocol");
    this.lane.close();
  }

  write(message: SessionResponse): boolean {
    this.#deps.beforeSending();
    return this.#stream.write(encodeSessionResponse(message, this.#dropUnencodable));
  }

  readonly #dropUnencodable = (turn: number, cause: unknown): void => {
    this.#deps.log.error({ err: cause }, "a turn has failed: the contract cannot express one of its events");
    this.lane.dropUnencodable(turn);
  };
}
