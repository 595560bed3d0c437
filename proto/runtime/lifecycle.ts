/** Start, readiness and the end of a process: SIGTERM drains, and nobody's request fails for it. */
import type { Logger } from "./log.ts";

/** A step of the drain; later steps begin when earlier ones are done. */
export type DrainStep = () => void | Promise<void>;

/** Before the limit of the drain, or half of it where it is short: what is open then is told, and has time to end. */
const lastWordsMs = 5_000;

export class Lifecycle {
  readonly #log: Logger;
  readonly #steps: DrainStep[] = [];
  readonly #lastSteps: (() => void)[] = [];
  readonly #watchers = new Set<(ready: boolean) => void>();
  #started = false;
  #draining = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** True between `started()` and the first signal. */
  get ready(): boolean {
    return this.#started && !this.#draining;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Steps run in the order in which they were added. */
  onDrain(step: DrainStep): void {
    this.#steps.push(step);
  }

  /** Shortly before the limit, when the drain has not ended by itself: ends what is still open. */
  onLastMoment(step: () => void): void {
    this.#lastSteps.push(step);
  }

  /** Called at once and at every change; returns the way to stop it. */
  watch(watcher: (ready: boolean) => void): () => void {
    this.#watchers.add(watcher);
    watcher(this.ready);
    return () => void this.#watchers.delete(watcher);
  }

  started(): void {
    this.#started = true;
    this.#tell();
  }

  /**
   * Drains on SIGTERM and SIGINT, then exits 0; at once when it has not started, as nobody relies on it. To be called before anything is
   * waited for: the first process of a container gets no signal that it has no handler for.
   * @param delayMs between "not ready" and the first step: load balancers need it to look elsewhere
   * @param limitMs after which the process exits 1 although a step has not finished
   */
  handleSignals(delayMs: number, limitMs: number): void {
    const stop = (signal: NodeJS.Signals) => {
      if (this.#draining) return;
      if (!this.#started) {
        this.#log.info({ signal }, "told to end before it had begun to serve");
        process.exit(0);
      }
      this.#log.info({ signal }, "draining");
      setTimeout(
        () => {
          this.#log.warn({ limit_ms: limitMs }, "drain limit near: what is open ends now");
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
    this.#tell();
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    for (const step of this.#steps) await step();
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher(this.ready);
  }
}
