/** Keeps a process running: what dies is started again, at first soon and then less and less often. */
import { setTimeout as delay } from "node:timers/promises";
import type { Running } from "./child.ts";

const firstPauseMs = 200;
const longestPauseMs = 5_000;
/** Who lived this long starts over with the shortest pause. */
const stableMs = 10_000;

export interface KeepEvents {
  /** Running, at first and after every restart. */
  up(pid: number): void;
  /** Gone, or could not be started again. */
  down(reason: string): void;
}

export class Kept {
  readonly #start: () => Promise<Running>;
  readonly #events: KeepEvents;
  readonly #stopping = new AbortController();
  #running: Running | undefined;
  #watch: Promise<void> = Promise.resolve();
  #pauseMs = firstPauseMs;

  private constructor(start: () => Promise<Running>, events: KeepEvents) {
    this.#start = start;
    this.#events = events;
  }

  /** @throws when the first start fails */
  static async start(start: () => Promise<Running>, events: KeepEvents): Promise<Kept> {
    const kept = new Kept(start, events);
    await kept.#open();
    kept.#watch = kept.#run();
    return kept;
  }

  stop(): Promise<void> {
    return this.#end((running) => running.stop());
  }

  kill(): Promise<void> {
    return this.#end((running) => running.kill());
  }

  async #end(how: (running: Running) => Promise<void>): Promise<void> {
    this.#stopping.abort();
    if (this.#running !== undefined) await how(this.#running);
    await this.#watch;
  }

  async #open(): Promise<void> {
    const running = await this.#start();
    this.#running = running;
    // Stopped while it was starting.
    if (this.#stopping.signal.aborted) await running.stop();
    else this.#events.up(running.pid);
  }

  async #run(): Promise<void> {
    while (this.#running !== undefined) {
      const since = performance.now();
      const how = await this.#running.exited;
      this.#running = undefined;
      if (this.#stopping.signal.aborted) return;
      if (performance.now() - since > stableMs) this.#pauseMs = firstPauseMs;
      this.#events.down(how);
      await this.#reopen();
    }
  }

  async #reopen(): Promise<void> {
    while (this.#running === undefined && !this.#stopping.signal.aborted) {
      try {
        await delay(this.#pauseMs, undefined, { signal: this.#stopping.signal });
        this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
        await this.#open();
      } catch (error) {
        if (!this.#stopping.signal.aborted) this.#events.down((error as Error).message);
      }
    }
  }
}
