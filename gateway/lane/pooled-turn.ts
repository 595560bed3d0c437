/**
 * A turn that is retried at other processes without notice to its listener: if its session is lost before the turn was sent, or if the process
 * reports that it could not begin the turn. No other turn is retried after it was sent: the lost process may already have called the provider, and
 * the answer would be paid for twice.
 */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { dropContent } from "@sluice/proto/lib/turns/drop-content.js";

/** Maximum number of processes tried for a turn. */
const maxTries = 3;

/** An inference process, as far as its turns use it. */
export interface TurnProcess {
  readonly address: string;
  /** Called when a turn at this process has failed before any event, for a reason other than the client. */
  failed(): void;
}

/** Assigns turns to processes. */
export interface TurnAssigner<Process extends TurnProcess> {
  /** Picks the process for a turn. @param tried processes that failed to begin the turn @throws Fault UNAVAILABLE if no other process is ready */
  pick(open: Open, tried: readonly Process[]): Process;
  open(process: Process, open: Open, listener: TurnListener): TurnControl;
}

export class PooledTurn<Process extends TurnProcess> implements TurnListener, TurnControl {
  readonly #listener: TurnListener;
  readonly #places: TurnAssigner<Process>;
  /** The process that has the turn. */
  #process: Process | undefined;
  /** Processes that failed to begin the turn. */
  readonly #tried: Process[] = [];
  #opened = 0;
  /** The open message for a retry; undefined if the turn cannot be retried. */
  #again: Open | undefined;
  #hasEvents = false;
  #control: TurnControl;

  /** @param open message that opens the turn; the content of its request is dropped once inference-svc has it  @throws Fault UNAVAILABLE */
  constructor(open: Open, listener: TurnListener, places: TurnAssigner<Process>) {
    this.#listener = listener;
    this.#places = places;
    this.#again = open;
    this.#control = this.#open(open);
  }

  /** The request's content is dropped, since inference-svc now holds it. */
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
      // The fault of the first process says more than the lack of another process.
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
