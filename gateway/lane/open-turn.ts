/** A running turn on a lane, with its credit: the number of events that inference-svc may still send. */
import type { Batch, ClientFrame } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { turnCredit } from "@sluice/proto/lib/lane/outbox.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";

/** The lane, as far as its turns use it. */
interface TurnCarrier {
  send(turn: number, frame: ClientFrame["frame"]): void;
  forget(turn: number, cancel: boolean): void;
}

export class OpenTurn implements TurnControl {
  readonly #lane: TurnCarrier;
  readonly #id: number;
  readonly listener: TurnListener;
  readonly keyHash: string;
  /** Whether the turn was sent, so that inference-svc may have begun it. */
  isSent = false;
  /** Whether inference-svc has acknowledged the turn. */
  accepted = false;
  /** Approximate size of the request in bytes. */
  requestBytes = 0;
  #owed = 0;
  #paused = false;

  constructor(lane: TurnCarrier, id: number, keyHash: string, listener: TurnListener) {
    this.#lane = lane;
    this.keyHash = keyHash;
    this.#id = id;
    this.listener = listener;
  }

  receive(batch: Batch): void {
    if (batch.events.length > 0) this.listener.events(batch.events, batch.cost);
    this.#owed += batch.cost;
    if (!this.#paused) this.#grant();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#grant();
  }

  cancel(): void {
    this.#lane.forget(this.#id, true);
  }

  #grant(): void {
    if (this.#owed < turnCredit / 2) return;
    this.#lane.send(this.#id, { case: "credit", value: this.#owed });
    this.#owed = 0;
  }
}
