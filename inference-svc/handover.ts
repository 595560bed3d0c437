/** Passes the batches of a turn from the engine, which pushes, to a call that pulls: one at a time. */
import type { TurnSink, WireBatch } from "./wire.ts";

export class Handover implements TurnSink {
  #batch: WireBatch | undefined;
  #taken: (() => void) | undefined;
  #given: (() => void) | undefined;
  #ended = false;

  accepted(): void {}

  take(batch: WireBatch): Promise<void> | undefined {
    if (this.#ended) return undefined;
    // What precedes a failure is given without waiting for the last batch to be taken.
    const { events = [], cost = 0 } = this.#batch ?? {};
    this.#batch = events.length === 0 ? batch : { events: [...events, ...batch.events], cost: cost + batch.cost };
    this.#given?.();
    return new Promise((resolve) => {
      this.#taken = resolve;
    });
  }

  /** Nothing more is given, or nobody takes it. */
  end(): void {
    this.#ended = true;
    this.#given?.();
    this.#taken?.();
  }

  /** Asking for the next batch says that the last one has been dealt with. */
  async *[Symbol.asyncIterator](): AsyncGenerator<WireBatch, void, undefined> {
    for (;;) {
      const batch = this.#batch;
      this.#batch = undefined;
      if (batch) yield batch;
      if (batch) this.#taken?.();
      if (this.#batch) continue;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#given = resolve;
      });
    }
  }
}
