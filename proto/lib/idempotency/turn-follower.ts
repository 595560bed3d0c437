/** A client of a generation, reading at its own pace. */
import { Fault } from "../faults/fault.ts";
import type { TurnControl, TurnListener } from "../lane/turn-listener.ts";
import type { EventLog } from "./event-log.ts";

export interface FollowedTurn {
  readonly log: EventLog;
  /** Outcome of the generation: a fault, or undefined for an answer; absent while the turn runs. */
  readonly end: { readonly fault: Fault | undefined; readonly accepted: boolean } | undefined;
  /** Called when a follower pauses or reads on. */
  moved(): void;
  left(follower: TurnFollower): void;
}

export class TurnFollower implements TurnControl {
  readonly #source: FollowedTurn;
  readonly #listener: TurnListener;
  readonly #cut: () => void;
  /** Number of the client's next batch. */
  next = 0;
  #paused = false;
  #over = false;

  /** @param cut closes the connection of a client that reads too slowly */
  constructor(source: FollowedTurn, listener: TurnListener, cut: () => void) {
    this.#source = source;
    this.#listener = listener;
    this.#cut = cut;
  }

  /** Whether the client has read everything and waits for the next batch. */
  get waits(): boolean {
    return !this.#paused && this.next === this.#source.log.end;
  }

  /** Writes all batches the client has not received yet, until its connection is full. */
  pump(): void {
    try {
      while (!this.#paused && !this.#over) {
        const events = this.#source.log.at(this.next);
        if (!events) break;
        const before = this.#source.log.costBefore(this.next++);
        this.#listener.events(events, this.#source.log.costBefore(this.next) - before);
      }
      if (this.waits && !this.#over && this.#source.end) this.#finish(this.#source.end);
    } catch (error) {
      // A failed write to this client must not affect the others.
      this.#finish({ fault: Fault.from(error), accepted: true });
    }
  }

  pause(): void {
    this.#paused = true;
    this.#source.moved();
  }

  resume(): void {
    this.#paused = false;
    this.pump();
    this.#source.moved();
  }

  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.#source.left(this);
  }

  cut(): void {
    this.cancel();
    this.#cut();
  }

  #finish({ fault, accepted }: NonNullable<FollowedTurn["end"]>): void {
    this.#over = true;
    this.#source.left(this);
    if (fault) this.#listener.failed(fault, accepted);
    else this.#listener.ended();
  }
}
