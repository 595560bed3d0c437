/** One client that reads a generation, at its own pace. */
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { TurnControl, TurnListener } from "../lane/lane.ts";
import type { EventLog } from "./event-log.ts";

export interface Source {
  readonly log: EventLog;
  /** How it ended: a fault, or undefined for an answer; absent while it runs. */
  readonly end: { readonly fault: Fault | undefined; readonly accepted: boolean } | undefined;
  /** The follower reads on, or does not. */
  moved(): void;
  left(follower: Follower): void;
}

export class Follower implements TurnControl {
  readonly #source: Source;
  readonly #listener: TurnListener;
  readonly #cut: () => void;
  /** Number of the batch that it is told next. */
  next = 0;
  #paused = false;
  #over = false;

  /** @param cut breaks the connection of a client that reads too slowly */
  constructor(source: Source, listener: TurnListener, cut: () => void) {
    this.#source = source;
    this.#listener = listener;
    this.#cut = cut;
  }

  /** Whether it waits for what is said next. */
  get waits(): boolean {
    return !this.#paused && this.next === this.#source.log.end;
  }

  /** Tells it what it has not heard yet, until it takes no more. */
  pump(): void {
    try {
      while (!this.#paused && !this.#over) {
        const events = this.#source.log.at(this.next);
        if (!events) break;
        this.next++;
        this.#listener.events(events, 0);
      }
      if (this.waits && !this.#over && this.#source.end) this.#finish(this.#source.end);
    } catch (error) {
      // What cannot be told to one client must not touch the others.
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

  #finish({ fault, accepted }: NonNullable<Source["end"]>): void {
    this.#over = true;
    this.#source.left(this);
    if (fault) this.#listener.failed(fault, accepted);
    else this.#listener.ended();
  }
}
