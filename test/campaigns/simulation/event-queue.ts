/** A queue of events by time; events at the same time keep the order in which they were added. */
export interface QueuedEvent {
  /** Time of the event, in milliseconds of the simulated clock. */
  readonly at: number;
  readonly place: number;
  /** Runs the event. The clock stands still until a returned promise settles. */
  readonly run: () => void | Promise<void>;
}

const isBefore = (a: QueuedEvent, b: QueuedEvent): boolean => a.at < b.at || (a.at === b.at && a.place < b.place);

/** A binary heap. */
export class EventQueue {
  readonly #heap: QueuedEvent[] = [];
  #added = 0;

  get first(): QueuedEvent | undefined {
    return this.#heap[0];
  }

  add(at: number, run: QueuedEvent["run"]): void {
    const event = { at, place: this.#added++, run };
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  /** Removes the first event. */
  shift(): void {
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
  }

  #sink(event: QueuedEvent): void {
    const heap = this.#heap;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(event, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = event;
  }
}
