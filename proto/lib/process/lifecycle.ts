/** Start, readiness and end of a process. SIGTERM drains, so no request fails because of it. */
import { Hindrances } from "./hindrances.ts";
import type { Logger } from "../log/log.ts";

/** A step of the drain; later steps begin after the end of earlier steps. */
export type DrainStep = () => void | Promise<void>;

/** Time before the drain limit, at most half of it, at which open streams should end. */
const lastWordsMs = 5_000;

export class Lifecycle {
  readonly #log: Logger;
  readonly #steps: DrainStep[] = [];
  readonly #lastSteps: (() => void)[] = [];
  readonly #watchers = new Set<(ready: boolean) => void>();
  readonly hindrances: Hindrances;
  #started = false;
  #draining = false;
  #announcedReady = false;

  constructor(log: Logger) {
    this.#log = log;
    this.hindrances = new Hindrances(log);
    this.hindrances.onChange(() => {
      if (this.ready !== this.#announcedReady) this.#notifyWatchers();
    });
  }

  /** True between `started()` and the first signal, while nothing hinders the process. */
  get ready(): boolean {
    return this.#started && !this.#draining && this.hindrances.whole === undefined;
  }

  /** Why the process is not ready, or its current hindrance while ready; undefined without any. */
  get reason(): string | undefined {
    const { current } = this.hindrances;
    return current && `${current.cause}: ${current.reason}`;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Adds a drain step; steps run in this order. */
  onDrain(step: DrainStep): void {
    this.#steps.push(step);
  }

  /** Adds work for shortly before the drain limit, to end everything still open. */
  onLastMoment(step: () => void): void {
    this.#lastSteps.push(step);
  }

  /** Calls the watcher at once and at every change; returns a function to stop it. */
  watch(watcher: (ready: boolean) => void): () => void {
    this.#watchers.add(watcher);
    watcher(this.ready);
    return () => void this.#watchers.delete(watcher);
  }

  started(): void {
    this.#started = true;
    this.#notifyWatchers();
  }

  /**
   * Drains on SIGTERM and SIGINT, then exits 0; exits at once when the process has not started yet. Call it before the first await: the first process of a
   * container gets only signals with a handler.
   * @param delayMs between "not ready" and the first step, so that load balancers stop sending traffic
   * @param limitMs after which the process exits 1 with unfinished steps
   */
  handleSignals(delayMs: number, limitMs: number): void {
    const stop = (signal: NodeJS.Signals) => {
      if (this.#draining) return;
      if (!this.#started) {
        this.#log.info({ signal }, "stopped before it had begun to serve");
        process.exit(0);
      }
      this.#log.info({ signal }, "draining");
      setTimeout(
        () => {
          this.#log.warn({ limit_ms: limitMs }, "drain limit is near: open streams end now");
          for (const step of this.#lastSteps) step();
        },
        limitMs - Math.min(lastWordsMs, limitMs / 2),
      ).unref();
      setTimeout(() => {
        this.#log.error({ limit_ms: limitMs }, "drain limit reached");
        process.exit(1);
      }, limitMs).unref();
      void this.drain(delayMs).then(
        () => process.exit(0),
        (error: unknown) => {
          this.#log.error({ err: error }, "drain failed");
          process.exit(1);
        },
      );
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
  }

  async drain(delayMs: number): Promise<void> {
    this.#draining = true;
    this.hindrances.stop();
    this.#notifyWatchers();
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    for (const step of this.#steps) await step();
  }

  #notifyWatchers(): void {
    this.#announcedReady = this.ready;
    for (const watcher of this.#watchers) watcher(this.ready);
  }
}
