/** What a stream tells of an item while the work for it goes on beside whoever gives it out. */
import type { Batch, TurnEvent } from "./turn.ts";

export interface ItemEvent {
  /** Its type, such as response.fusion_call.completed. */
  readonly name: string;
  /** Without type, sequence_number, item_id and output_index. */
  readonly payload: object;
}

export const told = (index: number, { name, payload }: ItemEvent): TurnEvent => ({
  type: "native",
  index,
  name,
  payloadJson: JSON.stringify(payload),
});

export class Relay {
  #events: ItemEvent[] = [];
  #wake = () => {};

  push(event: ItemEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  /**
   * What was pushed and is pushed until the work is over; how it ends is for others to see.
   * @param index of the item
   */
  async *until(work: Promise<unknown>, index: number): AsyncGenerator<Batch> {
    let isOver = false;
    const over = () => {
      isOver = true;
      this.#wake();
    };
    work.then(over, over);
    for (;;) {
      if (this.#events.length > 0) {
        const batch = this.#events.map((event) => told(index, event));
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
