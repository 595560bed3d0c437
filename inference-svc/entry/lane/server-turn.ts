/** A turn of a session: the engine writes into it, and the lane carries its frames to the gateway. */
import type { Open, ServerFrame } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { TurnEvent as WireEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { type Outbox, turnCredit } from "@sluice/proto/lib/lane/outbox.js";
import type { WheelTimer } from "@sluice/proto/lib/time/timer-wheel.js";
import { TurnAbort, type TurnSignal } from "../../turn/signal.ts";
import { type AcceptedTurn, type LateAcceptances, mayBeLate } from "./late-acceptances.ts";
import { type EngineTurn, type WireBatch, faultCost } from "../../engine/wire.ts";

/** Abort reason of a failed turn. Preallocated: an abort without a reason builds a DOMException with a stack each time. */
const failure = new Error("the turn has failed");

/**
 * The batch in the last frame of a lane, to which its turn can add events until the frame is sent. There is only one
 * per lane: a turn may be silent for minutes, and must not keep its last batch in memory as long.
 */
export class LastBatch {
  readonly #outbox: Outbox<ServerFrame>;
  #turn: ServerTurn | undefined = undefined;
  #batch: { events: WireEvent[]; cost: number } | undefined = undefined;
  /** Generation of the outbox when the frame was pushed; a later generation has sent the frame. */
  #generation = -1;

  constructor(outbox: Outbox<ServerFrame>) {
    this.#outbox = outbox;
  }

  /** Adds events to the last frame. @returns whether they were added; otherwise they need a separate frame */
  extend(turn: ServerTurn, { events, cost }: WireBatch): boolean {
    if (turn !== this.#turn || this.#generation !== this.#outbox.generation) return false;
    const batch = this.#batch;
    if (batch === undefined || !this.#outbox.grow(cost)) return false;
    for (const event of events) batch.events.push(event);
    batch.cost += cost;
    return true;
  }

  /** Called when a frame was pushed. @param batch undefined for a frame that takes no more events */
  pushed(turn: ServerTurn, batch: { events: WireEvent[]; cost: number } | undefined): void {
    this.#turn = turn;
    this.#batch = batch;
    this.#generation = this.#outbox.generation;
  }
}

/** The lane for the frames of a turn. */
export interface FrameCarrier {
  readonly lastBatch: LastBatch;
  readonly acceptances: LateAcceptances;
  push(id: number, turn: ServerTurn, frame: ServerFrame, bytes: number): void;
}

export class ServerTurn implements EngineTurn, AcceptedTurn {
  readonly #lane: FrameCarrier;
  readonly #id: number;
  readonly #abort = new TurnAbort();
  #credit: number;
  #resume: (() => void) | undefined = undefined;
  /** Timer that ends the turn at its time limit. */
  limit: WheelTimer | undefined = undefined;
  readonly mayBeLate: boolean;
  readonly keyHash: string;
  isBegun = false;
  isAcknowledged = false;

  constructor(lane: FrameCarrier, id: number, open: Open) {
    this.#lane = lane;
    this.#id = id;
    this.#credit = open.credit > 0 ? open.credit : turnCredit;
    this.mayBeLate = mayBeLate(open);
    this.keyHash = open.keyHash;
    lane.acceptances.add(this);
  }

  /** Aborted by a cancel frame, by the deadline, and when the session is lost. */
  get signal(): TurnSignal {
    return this.#abort;
  }

  accepted(): void {
    this.isBegun = true;
    this.#lane.acceptances.note(this);
  }

  acknowledge(): void {
    this.#push({ case: "batch", value: { $typeName: "sluice.inference.v1.Batch", events: [], cost: 0 } }, 8, false);
  }

  /**
   * Sends a batch. @returns undefined while there is credit, and after the last batch; else a promise that settles when
   * the client is ready for more, or the turn is cancelled
   */
  take(batch: WireBatch, last: boolean): Promise<void> | undefined {
    this.#credit -= batch.cost;
    this.#send(batch, last);
    if (last || this.#credit > 0 || this.signal.aborted) return undefined;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Adds the batch to the turn's last frame if that is not yet sent, else pushes a new frame. */
  #send(batch: WireBatch, last: boolean): void {
    const { lastBatch } = this.#lane;
    if (!last && lastBatch.extend(this, batch)) return;
    const value = { $typeName: "sluice.inference.v1.Batch" as const, events: batch.events, cost: batch.cost };
    this.#push({ case: "batch", value }, batch.cost, last);
    if (!last) lastBatch.pushed(this, value);
  }

  /** Called when the turn has ended. */
  over(): void {
    this.limit?.stop();
  }

  failed(error: unknown): void {
    this.over();
    const fault = Fault.from(error).toMessage();
    this.#push({ case: "fault", value: fault }, faultCost(fault), true);
    // A failed turn may have calls that listen to its signal; a finished turn has none.
    this.cancel(failure);
  }

  grant(credit: number): void {
    this.#credit += credit;
    // Resumes at half of the credit: waking for every few bytes would cut a fast stream into small frames.
    if (this.#credit >= turnCredit / 2) this.#wake();
  }

  cancel(reason: unknown): void {
    this.isAcknowledged = true;
    this.#abort.abort(reason);
    this.#wake();
  }

  #wake(): void {
    this.#resume?.();
    this.#resume = undefined;
  }

  #push(frame: ServerFrame["frame"], bytes: number, last: boolean): void {
    this.isAcknowledged = true;
    this.#lane.push(
      this.#id,
      this,
      { $typeName: "sluice.inference.v1.ServerFrame", turn: this.#id, frame, last },
      bytes,
    );
    this.#lane.lastBatch.pushed(this, undefined);
  }
}
