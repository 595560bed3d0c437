/** Runs a turn in the engine and pushes its events to a listener, which can pause and cancel the turn. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { TurnAbort, type TurnSignal } from "../../turn/signal.ts";
import type { EngineTurn, WireBatch } from "../../engine/wire.ts";
import { deadlineExceeded, turnEndedReason } from "./time-limit.ts";

export class PushedTurn implements EngineTurn, TurnControl {
  readonly #listener: TurnListener;
  readonly #abort = new TurnAbort();
  #hasBegun = false;
  #hasLeft = false;
  #paused: Promise<void> | undefined;
  #release = () => {};

  constructor(listener: TurnListener) {
    this.#listener = listener;
  }

  /** @param run runs this turn in the engine @param limitMs time limit of the turn */
  start(run: (turn: EngineTurn) => Promise<void>, limitMs: number): void {
    const timer = setTimeout(() => this.cancel(deadlineExceeded()), limitMs);
    // The listener must have this object before the first event, since it may pause at that event.
    queueMicrotask(() => {
      run(this)
        .then(this.#ended, this.#failed)
        .finally(() => clearTimeout(timer));
    });
  }

  get signal(): TurnSignal {
    return this.#abort;
  }

  accepted(): void {
    this.#hasBegun = true;
    this.#listener.accepted?.();
  }

  take({ events, cost }: WireBatch): Promise<void> | undefined {
    if (this.#hasLeft) return undefined;
    this.#listener.events(events, cost);
    return this.#paused;
  }

  pause(): void {
    this.#paused ??= new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  resume(): void {
    this.#paused = undefined;
    this.#release();
  }

  /** Cancels the turn. @param reason a Fault fails the turn; anything else means that nobody listens any more */
  cancel(reason: unknown = turnEndedReason): void {
    if (!(reason instanceof Fault)) this.#hasLeft = true;
    this.#abort.abort(reason);
    this.resume();
  }

  readonly #ended = (): void => {
    if (!this.#hasLeft) this.#listener.ended();
  };

  readonly #failed = (error: unknown): void => {
    if (!this.#hasLeft) this.#listener.failed(Fault.from(error), this.#hasBegun);
  };
}
