/** Buffers progress events of an item while its work runs. */
import type { Batch, TurnEvent } from "./turn.ts";

export interface ItemEvent {
  /** Type of the event, such as response.fusion_call.completed. */
  readonly name: string;
  /** Payload without type, sequence_number, item_id and output_index; the gateway adds these. */
  readonly payload: object;
}

export const toNativeEvent = (index: number, { name, payload }: ItemEvent): TurnEvent => ({
  type: "native",
  index,
  name,
  payloadJson: JSON.stringify(payload),
});

export class ProgressBuffer {
  #events: ItemEvent[] = [];
  #wake = () => {};

  push(event: ItemEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  /**
   * Yields buffered and new events until the work settles, whatever its outcome.
   * @param index index of the item
   */
  async *drainUntil(work: Promise<unknown>, index: number): AsyncGenerator<Batch> {
    let isOver = false;
    const over = () => {
      isOver = true;
      this.#wake();
    };
    work.then(over, over);
    for (;;) {
      if (this.#events.length > 0) {
        const batch = this.#events.map((event) => toNativeEvent(index, event));
        this.#events = [];
        yield batch;
      } else if (isOver) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
