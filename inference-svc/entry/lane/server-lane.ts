/**
 * The server's end of the lane: many turns in one Session stream.
 *
 * Every turn has a byte credit, so a slow reader stops only its own provider call. A frame can cancel a turn. When
 * the session is lost, the provider calls of all its turns are stopped.
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
import { SlotMap } from "@sluice/proto/lib/load/slot-map.js";
import { LateAcceptances } from "./late-acceptances.ts";
import { type FrameCarrier, LastBatch, ServerTurn } from "./server-turn.ts";

/** Runs an opened turn, and writes its events into `turn`. */
export interface TurnRunner {
  /** Settles at the end of the turn. A rejection is sent to the client as the turn's failure. */
  run(open: Open, turn: ServerTurn): Promise<void>;
}

export interface MessageSink {
  /** Sends one message. @returns false to request a pause until the outbox reports that it is empty */
  write(message: SessionResponse): boolean;
}

export interface LaneOptions {
  /** Name of this process in its hello message. */
  readonly instance: string;
  readonly draining: boolean;
  /** A problem of the process that prevents its work wholly or partly; absent without one. */
  readonly hindrance?: Hindrance | undefined;
  readonly messages: MessageSink;
  readonly runner: TurnRunner;
  /** Fair scheduling of keys in the event loop; by default the scheduler of the process. */
  readonly loop?: FairShares;
}

// Abort reason of a cancelled turn. Preallocated: an abort without a reason builds a DOMException with a stack each
// time.
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

/** The turns of a Session stream. */
export class ServerLane implements FrameCarrier {
  readonly outbox: Outbox<ServerFrame>;
  readonly lastBatch: LastBatch;
  readonly acceptances = new LateAcceptances();
  readonly #turns = new SlotMap<number, ServerTurn>();
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
    if (!turn) return; // a late frame of a turn that has ended, which is normal
    if (frame.case === "credit") turn.grant(frame.value);
    if (frame.case === "cancel") {
      this.#turns.delete(id);
      turn.cancel(cancelled);
    }
  }

  #open(id: number, open: Open): void {
    if (this.#turns.get(id)) return;
    const turn = new ServerTurn(this, id, open);
    this.#turns.set(id, turn);
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

  /** Queues a frame, unless its turn was cancelled or has ended: the gateway expects no more frames of such a turn. */
  push(id: number, turn: ServerTurn, frame: ServerFrame, bytes: number): void {
    if (this.#turns.get(id) !== turn) return;
    if (frame.last) this.#turns.delete(id);
    this.outbox.push(frame, bytes, turn.keyHash);
  }

  /** Cancels a turn with an event the contract cannot express; its client has already received the failure. */
  dropUnencodable(id: number): void {
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    turn?.cancel(unencodable);
  }

  /** Tells the gateway to open no more turns. Only the gateway ends the session: it alone knows whether an `open` is on its way. */
  drain(): void {
    this.outbox.flush();
    this.#messages.write(message([], true));
  }

  /** Tells the gateway to open turns elsewhere while the process has a hindrance. @param hindrance undefined when the hindrance is over */
  hinder(hindrance: Hindrance | undefined): void {
    this.#messages.write({ ...message([], false), hindrance: toMessage(hindrance) });
  }

  /** Cancels every turn: the session is gone. */
  close(): void {
    for (const turn of this.#turns.clear()) turn.cancel(lost);
  }
}
