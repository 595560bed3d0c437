/**
 * The server's end of the lane: many turns over one Session stream.
 *
 * Every turn has a byte credit, so that a slow reader stops its own upstream and no other one. A cancel is a frame. When the session is lost,
 * the upstream calls of all its turns are stopped.
 */
import type {
  ClientFrame,
  Open,
  ServerFrame,
  SessionRequest,
  SessionResponse,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Hindrance } from "@sluice/proto/lib/process/hindrances.js";
import { type FairShares, eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import { Outbox } from "@sluice/proto/lib/lane/outbox.js";
import { supportedFieldsOf } from "@sluice/proto/lib/rpc/supported-fields.js";
import { TurnTable } from "@sluice/proto/lib/lane/turn-table.js";
import { LateAcceptances } from "./late-acceptances.ts";
import { type FrameCarrier, LastBatch, ServerTurn } from "./server-turn.ts";

/** Runs one opened turn, and writes into `turn` whatever becomes known. */
export interface TurnRunner {
  /** Settles at the end of the turn. A rejection is the turn's failure, which the client is told. */
  run(open: Open, turn: ServerTurn): Promise<void>;
}

export interface MessageSink {
  /** Sends one message; false asks for a pause until the outbox is told that it drained. */
  write(message: SessionResponse): boolean;
}

export interface LaneOptions {
  /** Name of this process, for the greeting. */
  readonly instance: string;
  readonly draining: boolean;
  /** Why the process cannot do its work, or not as well as others; absent when nothing hinders it. */
  readonly hindrance?: Hindrance | undefined;
  readonly messages: MessageSink;
  readonly runner: TurnRunner;
  /** The turns of the event loop between keys; those of this process when absent. */
  readonly loop?: FairShares;
}

// Preallocated: an abort without a reason builds a DOMException with a stack each time.
const cancelled = new Error("cancelled by the client");
const lost = new Error("session lost");
const unencodable = new Error("the contract cannot express an event of the turn");

const message = (frames: ServerFrame[], draining: boolean): SessionResponse => ({
  $typeName: "sluice.inference.v1.SessionResponse",
  frames,
  draining,
});

const toMessage = (hindrance: Hindrance | undefined) => ({
  $typeName: "sluice.inference.v1.Hindrance" as const,
  cause: hindrance?.cause ?? "",
  partial: hindrance?.isPartial ?? false,
});

const knows = supportedFieldsOf(RunTurnRequestSchema);

/** The turns of one Session stream. */
export class ServerLane implements FrameCarrier {
  readonly outbox: Outbox<ServerFrame>;
  readonly lastBatch: LastBatch;
  readonly acceptances = new LateAcceptances();
  readonly #turns = new TurnTable<ServerTurn>();
  readonly #messages: MessageSink;
  readonly #runner: TurnRunner;
  readonly #loop: FairShares;

  constructor({ instance, draining, hindrance, messages, runner, loop = eventLoop }: LaneOptions) {
    this.#loop = loop;
    this.#messages = messages;
    this.#runner = runner;
    this.outbox = new Outbox((frames) => messages.write(message(frames, false)));
    this.lastBatch = new LastBatch(this.outbox);
    const hello = { $typeName: "sluice.inference.v1.Hello" as const, instance, knows };
    const greeting: SessionResponse = { ...message([], draining), hello };
    if (hindrance) greeting.hindrance = toMessage(hindrance);
    messages.write(greeting);
  }

  get openTurns(): number {
    return this.#turns.size;
  }

  receive(request: SessionRequest): void {
    for (const frame of request.frames) this.#frame(frame);
  }

  #frame({ turn: id, frame }: ClientFrame): void {
    if (frame.case === "open") return this.#open(id, frame.value);
    const turn = this.#turns.get(id);
    if (!turn) return; // a late frame of a turn that has ended: normal
    if (frame.case === "credit") turn.grant(frame.value);
    if (frame.case === "cancel") {
      this.#turns.delete(id);
      turn.cancel(cancelled);
    }
  }

  #open(id: number, open: Open): void {
    if (this.#turns.get(id)) return;
    const turn = new ServerTurn(this, id, open);
    this.#turns.add(id, turn);
    if (this.#loop.hasTime()) return this.#begin(open, turn);
    this.#loop.wait(open.keyHash, () => {
      if (!turn.signal.aborted) this.#begin(open, turn);
    });
  }

  #begin(open: Open, turn: ServerTurn): void {
    this.#runner.run(open, turn).then(
      () => turn.over(),
      (error: unknown) => turn.failed(error),
    );
  }

  /** Queues a frame, unless its turn was cancelled or has ended: the client expects nothing more of it. */
  push(id: number, turn: ServerTurn, frame: ServerFrame, bytes: number): void {
    if (this.#turns.get(id) !== turn) return;
    if (frame.last) this.#turns.delete(id);
    this.outbox.push(frame, bytes, turn.keyHash);
  }

  /** Cancels a turn that said something which the contract cannot express; its client has been told that it failed. */
  dropUnencodable(id: number): void {
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    turn?.cancel(unencodable);
  }

  /** Asks the client to open nothing new. Only the client ends the session: it alone knows whether an `open` is on its way. */
  drain(): void {
    this.outbox.flush();
    this.#messages.write(message([], true));
  }

  /** Asks the client to open turns elsewhere while something hinders this process. @param hindrance undefined when nothing does any more */
  hinder(hindrance: Hindrance | undefined): void {
    this.#messages.write({ ...message([], false), hindrance: toMessage(hindrance) });
  }

  /** Cancels every turn: the session is gone. */
  close(): void {
    for (const turn of this.#turns.clear()) turn.cancel(lost);
  }
}
