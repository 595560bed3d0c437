/**
 * A turn that is opened again on another process, unseen by its listener, when its session is lost before it was sent.
 *
 * One that was sent is not: whether a lost process has asked the provider nobody can know, and the answer would be paid for twice.
 */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { TurnControl, TurnListener } from "@sluice/proto/runtime/session/turn-listener.js";
import { dropContent } from "@sluice/proto/runtime/turns/drop-content.js";

/** @throws Fault UNAVAILABLE */
export type OpenSomewhere = (open: Open, listener: TurnListener) => TurnControl;

export class PooledTurn implements TurnListener, TurnControl {
  readonly #listener: TurnListener;
  readonly #openSomewhere: OpenSomewhere;
  /** Undefined when it cannot be sent again. */
  #again: Open | undefined;
  #control: TurnControl;

  /**
   * @param open the content of its request is dropped once inference-svc has it
   * @throws Fault UNAVAILABLE
   */
  constructor(open: Open, listener: TurnListener, openSomewhere: OpenSomewhere) {
    this.#listener = listener;
    this.#openSomewhere = openSomewhere;
    this.#again = open;
    this.#control = openSomewhere(open, this);
  }

  /** Inference-svc holds the request from here on. */
  accepted(): void {
    if (this.#again?.request) dropContent(this.#again.request);
    this.#again = undefined;
    this.#listener.accepted?.();
  }

  events(events: readonly TurnEvent[], cost: number): void {
    this.#listener.events(events, cost);
  }

  ended(): void {
    this.#listener.ended();
  }

  failed(fault: Fault, mayHaveBegun: boolean): void {
    const again = this.#again;
    if (mayHaveBegun || !again) return this.#listener.failed(fault, true);
    try {
      // There is one retry: a turn that two processes were lost before they got would only meet the next outage.
      this.#control = this.#openSomewhere(again, this.#listener);
    } catch (error) {
      this.#listener.failed(Fault.from(error), false);
    }
  }

  pause(): void {
    this.#control.pause();
  }

  resume(): void {
    this.#control.resume();
  }

  cancel(): void {
    this.#control.cancel();
  }
}
