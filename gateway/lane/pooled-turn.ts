/**
 * A turn that is opened again on another process, unseen by its listener, when its session is lost before it was sent, or when the process says that
 * it could not begin it.
 *
 * Any other one that was sent is not: whether a lost process has asked the provider nobody can know, and the answer would be paid for twice.
 */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { TurnControl, TurnListener } from "@sluice/proto/runtime/session/turn-listener.js";
import { dropContent } from "@sluice/proto/runtime/turns/drop-content.js";

/** Most processes that are tried for one turn. */
const maxTries = 3;

/** An inference process as its turns see it. */
export interface TurnProcess {
  readonly address: string;
  /** Called when a turn has failed there before any event, for a cause that is not the client's. */
  failed(): void;
}

/** Puts turns on processes. */
export interface TurnPlaces<Process extends TurnProcess> {
  /** @param tried processes that could not begin the turn. @throws Fault UNAVAILABLE when no other one is ready */
  pick(open: Open, tried: readonly Process[]): Process;
  open(process: Process, open: Open, listener: TurnListener): TurnControl;
}

export class PooledTurn<Process extends TurnProcess> implements TurnListener, TurnControl {
  readonly #listener: TurnListener;
  readonly #places: TurnPlaces<Process>;
  /** The process that has got the turn. */
  #process: Process | undefined;
  /** Processes that could not begin it. */
  readonly #tried: Process[] = [];
  #opened = 0;
  /** Undefined when it cannot be sent again. */
  #again: Open | undefined;
  #hasEvents = false;
  #control: TurnControl;

  /**
   * @param open the content of its request is dropped once inference-svc has it
   * @throws Fault UNAVAILABLE
   */
  constructor(open: Open, listener: TurnListener, places: TurnPlaces<Process>) {
    this.#listener = listener;
    this.#places = places;
    this.#again = open;
    this.#control = this.#open(open);
  }

  /** Inference-svc holds the request from here on. */
  accepted(): void {
    if (this.#again?.request) dropContent(this.#again.request);
    this.#again = undefined;
    this.#listener.accepted?.();
  }

  events(events: readonly TurnEvent[], cost: number): void {
    this.#hasEvents = true;
    this.#listener.events(events, cost);
  }

  ended(): void {
    this.#listener.ended();
  }

  failed(fault: Fault, mayHaveBegun: boolean): void {
    if (!this.#hasEvents && fault.status >= 500) this.#process?.failed();
    const again = this.#again;
    const isFree = !mayHaveBegun || fault.isUnbegun;
    if (!isFree || !again || this.#opened >= maxTries) return this.#listener.failed(fault, mayHaveBegun);
    if (fault.isUnbegun && this.#process) this.#tried.push(this.#process);
    try {
      this.#control = this.#open(again);
    } catch (error) {
      // The first process has told why; that no other one is left is less to the point.
      this.#listener.failed(fault.isUnbegun ? fault : Fault.from(error), false);
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

  #open(open: Open): TurnControl {
    this.#opened++;
    this.#process = this.#places.pick(open, this.#tried);
    return this.#places.open(this.#process, open, this);
  }
}
