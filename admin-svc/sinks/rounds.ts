/** Repeats a piece of work until the process ends. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { setTimeout as delay } from "node:timers/promises";

const pauseMs = 1_000;

export class Rounds {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  /**
   * @param work one round; after a failure, which is logged, the next round follows as usual
   * @param failure text of the log line
   */
  constructor(work: () => Promise<void>, log: Logger, failure: string) {
    this.#running = this.#run(work, log, failure);
  }

  /** Waits for the current round to end, and starts no other. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(work: () => Promise<void>, log: Logger, failure: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await work().catch((error: unknown) => log.warn({ err: error }, failure));
      await delay(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
