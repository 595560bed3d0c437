/** Work of one workspace, one batch after the other. What has come together while the last batch was done is done together. */

export interface Waiting<Item, Result> {
  readonly item: Item;
  /** Aborted once nobody waits for the answer. */
  readonly signal: AbortSignal;
  /** performance.now() */
  readonly since: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface BatchesOptions<Item, Result> {
  /** Takes out of those that wait, the longest first, what is done next; nothing when none is left that can be. */
  readonly take: (waiting: Waiting<Item, Result>[]) => readonly Waiting<Item, Result>[];
  /** Settles each of them. Where it fails, all that are not settled fail with it. */
  readonly work: (batch: readonly Waiting<Item, Result>[], workspaceId: string) => Promise<void>;
}

export class Batches<Item, Result> {
  readonly #options: BatchesOptions<Item, Result>;
  /** By workspace, while work of it is done. */
  readonly #waiting = new Map<string, Waiting<Item, Result>[]>();

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

  async #work(workspaceId: string, waiting: Waiting<Item, Result>[]): Promise<void> {
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
