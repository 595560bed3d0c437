/**
 * Runs the work of each workspace in batches, one batch at a time. Items that arrive during a batch form the next
 * batch.
 */

export interface WaitingItem<Item, Result> {
  readonly item: Item;
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal;
  /** Start of the wait, by performance.now(). */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchesOptions<Item, Result> {
  /**
   * Removes the next batch from the waiting items, oldest first; an empty batch means that every item was rejected or
   * settled.
   */
  readonly take: (waiting: WaitingItem<Item, Result>[]) => readonly WaitingItem<Item, Result>[];
  /** Settles every item of the batch. If the work fails, every unsettled item fails with its error. */
  readonly work: (batch: readonly WaitingItem<Item, Result>[], workspaceId: string) => Promise<void>;
}

export class Batches<Item, Result> {
  readonly #options: BatchesOptions<Item, Result>;
  /** Waiting items of each workspace with a running batch. */
  readonly #waiting = new Map<string, WaitingItem<Item, Result>[]>();

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = options;
  }

  join(workspaceId: string, item: Item, signal: AbortSignal): Promise<Result> {
    return new Promise((resolve, reject) => {
      const entry = { item, signal, since: performance.now(), resolve, reject };
      const waiting = this.#waiting.get(workspaceId);
      if (waiting) return void waiting.push(entry);
      const begun = [entry];
      this.#waiting.set(workspaceId, begun);
      void this.#work(workspaceId, begun);
    });
  }

  async #work(workspaceId: string, waiting: WaitingItem<Item, Result>[]): Promise<void> {
    const { take, work } = this.#options;
    for (let batch = take(waiting); batch.length > 0; batch = take(waiting)) {
      try {
        await work(batch, workspaceId);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#waiting.delete(workspaceId);
  }
}
