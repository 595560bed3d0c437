/** Restarts a process when it dies, after growing pauses. */
import { setTimeout as delay } from "node:timers/promises";
import type { ChildService } from "./child.ts";

const firstPauseMs = 200;
const maxPauseMs = 5_000;
/** Uptime in milliseconds after which the next restart has the shortest pause again. */
const stableMs = 10_000;

export interface RestartEvents {
  /** Called when the process runs: at first, and after every restart. */
  up(pid: number): void;
  /** Called when the process has ended, or could not be started again. */
  down(reason: string): void;
}

export class RestartedProcess {
  readonly #start: () => Promise<ChildService>;
  readonly #events: RestartEvents;
  readonly #stopping = new AbortController();
  #running: ChildService | undefined;
  #watch: Promise<void> = Promise.resolve();
  #pauseMs = firstPauseMs;

  private constructor(start: () => Promise<ChildService>, events: RestartEvents) {
    this.#start = start;
    this.#events = events;
  }

  /** @throws if the first start fails */
  static async start(start: () => Promise<ChildService>, events: RestartEvents): Promise<RestartedProcess> {
    const kept = new RestartedProcess(start, events);
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

  async #end(how: (running: ChildService) => Promise<void>): Promise<void> {
    this.#stopping.abort();
    if (this.#running !== undefined) await how(this.#running);
    await this.#watch;
  }

  async #open(): Promise<void> {
    const running = await this.#start();
    this.#running = running;
    // The process was stopped while it started.
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
        this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs);
        await this.#open();
      } catch (error) {
        if (!this.#stopping.signal.aborted) this.#events.down((error as Error).message);
      }
    }
  }
}
