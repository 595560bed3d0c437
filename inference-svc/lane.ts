/**
 * The server's end of the lane: many turns over one Session stream.
 *
 * Every turn has a byte credit, so a slow reader stops its own upstream and nobody else's. A cancel is a frame. When the session is
 * lost, every upstream call that hangs on it is stopped.
 */
import type { Fault as FaultMessage } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import type {
  ClientFrame,
  Open,
  ServerFrame,
  SessionRequest,
  SessionResponse,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { RunTurnRequestSchema, type TurnEvent as WireEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import { eventLoop } from "@sluice/proto/runtime/fair-shares.js";
import { Outbox, turnCredit } from "@sluice/proto/runtime/outbox.js";
import { knowledgeOf } from "@sluice/proto/runtime/rpc/knowledge.js";
import { TurnTable } from "@sluice/proto/runtime/turn-table.js";
import { type Cancellable, TurnAbort, type TurnSignal } from "./turn/signal.ts";
import { type TurnSink, type WireBatch, faultCost } from "./wire.ts";

/** Runs one opened turn to its end; `turn` takes what becomes known. Must not throw. */
export type Runner = (open: Open, turn: LaneTurn) => Promise<void>;

/** A turn as the engine sees it. */
export class LaneTurn implements TurnSink, Cancellable {
  readonly #lane: ServerLane;
  readonly #id: number;
  readonly #abort = new TurnAbort();
  #credit: number;
  #batch: { events: WireEvent[]; cost: number } | undefined;
  #generation = -1;
  #resume: (() => void) | undefined;

  constructor(lane: ServerLane, id: number, credit: number) {
    this.#lane = lane;
    this.#id = id;
    this.#credit = credit > 0 ? credit : turnCredit;
  }

  /** Aborted by a cancel, and when the session is lost. */
  get signal(): TurnSignal {
    return this.#abort;
  }

  /** From here on the client must not repeat the turn elsewhere. */
  accepted(): void {
    this.#push({ case: "batch", value: { $typeName: "sluice.inference.v1.Batch", events: [], cost: 0 } }, 8, false);
  }

  /** Sends a batch. Settles when the client is ready for more, or the turn is cancelled; undefined while there is credit. */
  take(batch: WireBatch, last: boolean): Promise<void> | undefined {
    this.#credit -= batch.cost;
    this.#send(batch, last);
    if (this.#credit > 0 || this.signal.aborted) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** A batch joins the turn's last frame when that is still here. */
  #send(batch: WireBatch, last: boolean): void {
    const outbox = this.#lane.outbox;
    if (!last && this.#batch && this.#generation === outbox.generation && outbox.grow(batch.cost)) {
      for (const event of batch.events) this.#batch.events.push(event);
      this.#batch.cost += batch.cost;
      return;
    }
    const value = { $typeName: "sluice.inference.v1.Batch" as const, events: batch.events, cost: batch.cost };
    this.#push({ case: "batch", value }, batch.cost, last);
    this.#batch = last ? undefined : value;
    this.#generation = outbox.generation;
  }

  fail(fault: FaultMessage): void {
    this.#push({ case: "fault", value: fault }, faultCost(fault), true);
  }

  grant(credit: number): void {
    this.#credit += credit;
    // Half a window at once: waking for every few bytes would make small frames of a fast stream.
    if (this.#credit >= turnCredit / 2) this.#wake();
  }

  cancel(reason: unknown): void {
    this.#abort.abort(reason);
    this.#wake();
  }

  #wake(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  #push(frame: ServerFrame["frame"], bytes: number, last: boolean): void {
    this.#generation = -1;
    this.#lane.push(
      this.#id,
      this,
      { $typeName: "sluice.inference.v1.ServerFrame", turn: this.#id, frame, last },
      bytes,
    );
  }
}

/** Preallocated: an abort without a reason builds a DOMException with a stack each time. */
const cancelled = new Error("cancelled by the client");
const lost = new Error("session lost");
const unsayable = new Error("the contract has no room for what the turn says");

const message = (frames: ServerFrame[], draining: boolean): SessionResponse => ({
  $typeName: "sluice.inference.v1.SessionResponse",
  frames,
  draining,
});

const knows = knowledgeOf(RunTurnRequestSchema);

/** One per Session stream. */
export class ServerLane {
  readonly outbox: Outbox<ServerFrame>;
  readonly #turns = new TurnTable<LaneTurn>();
  readonly #write: (message: SessionResponse) => boolean;
  readonly #run: Runner;

  /** @param write sends one message; false asks for a pause */
  constructor(instance: string, draining: boolean, write: (message: SessionResponse) => boolean, run: Runner) {
    this.#write = write;
    this.#run = run;
    this.outbox = new Outbox((frames) => write(message(frames, false)));
    write({ ...message([], draining), hello: { $typeName: "sluice.inference.v1.Hello", instance, knows } });
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
    const turn = new LaneTurn(this, id, open.credit);
    this.#turns.add(id, turn);
    if (eventLoop.hasTime()) return this.#begin(open, turn);
    eventLoop.wait(open.keyHash, () => {
      if (!turn.signal.aborted) this.#begin(open, turn);
    });
  }

  #begin(open: Open, turn: LaneTurn): void {
    this.#run(open, turn).catch((error: unknown) => turn.fail(Fault.from(error).toMessage()));
  }

  /** Nothing leaves for a turn that was cancelled or has ended, whatever the engine does. */
  push(id: number, turn: LaneTurn, frame: ServerFrame, bytes: number): void {
    if (this.#turns.get(id) !== turn) return;
    if (frame.last) this.#turns.delete(id);
    this.outbox.push(frame, bytes);
  }

  /** Its client has been told that it has failed. */
  unsayable(id: number): void {
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    turn?.cancel(unsayable);
  }

  /** Asks the client to open nothing new. Only the client ends the session: it alone knows whether an `open` is on its way. */
  drain(): void {
    this.outbox.flush();
    this.#write(message([], true));
  }

  /** The session is gone. */
  close(): void {
    for (const turn of this.#turns.clear()) turn.cancel(lost);
  }
}
