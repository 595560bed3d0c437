/** Lets a caller pull the events of a turn one batch at a time: the engine waits with the next batch until the last one is processed. */
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";

export class PulledTurn implements TurnListener {
  #control: TurnControl | undefined;
  #events: readonly TurnEvent[] | undefined;
  #wake = () => {};
  #isOver = false;
  #failure: unknown;

  /** @param open opens the turn, with this object as its listener */
  start(open: (listener: TurnListener) => TurnControl): void {
    this.#control = open(this);
  }

  events(events: readonly TurnEvent[]): void {
    // The usage that precedes a failure joins a batch not yet taken, instead of waiting for the reader.
    this.#events = this.#events ? [...this.#events, ...events] : events;
    this.#control?.pause();
    this.#wake();
  }

  ended(): void {
    this.end(undefined);
  }

  failed(fault: Fault): void {
    this.end(fault);
  }

  /** Ends the iteration after the waiting batches. @param failure error thrown to the reader; undefined after an answer */
  end(failure: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    this.#wake();
  }

  cancel(): void {
    this.#control?.cancel();
  }

  /** Yields the batches of the turn. @throws the failure of the turn */
  async *[Symbol.asyncIterator](): AsyncGenerator<readonly TurnEvent[], void, undefined> {
    for (;;) {
      const events = this.#events;
      this.#events = undefined;
      if (events) {
        yield events;
        this.#control?.resume();
      } else if (this.#isOver) break;
      else await this.#next();
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
