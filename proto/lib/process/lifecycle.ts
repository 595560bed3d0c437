/** Start, readiness and end of a process. On SIGTERM it finishes running requests, so none fails. */
import { Hindrances } from "./hindrances.ts";
import type { Logger } from "../log/log.ts";

/** A step of the shutdown; it begins after the end of earlier steps. */
export type DrainStep = () => void | Promise<void>;

/** Milliseconds before the shutdown's time limit, at most half of it, at which open streams are to end. */
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

  /** Whether the process can serve: true between `started()` and the first signal, while nothing hinders it. */
  get ready(): boolean {
    return this.#started && !this.#draining && this.hindrances.whole === undefined;
  }

  /** Why the process is not ready, or which hindrance it has while ready; undefined for none. */
  get reason(): string | undefined {
    const { current } = this.hindrances;
    return current && `${current.cause}: ${current.reason}`;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Adds a step of the shutdown; steps run in the order in which they are added. */
  onDrain(step: DrainStep): void {
    this.#steps.push(step);
  }

  /** Adds work that runs shortly before the time limit of the shutdown, to end everything still open. */
  onLastMoment(step: () => void): void {
    this.#lastSteps.push(step);
  }

  /** Sets a watcher that is called at once and at every change. @returns a function that removes the watcher */
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
   * Shuts down on SIGTERM and SIGINT, then exits with code 0; exits at once if the process has not started yet. Call it
   * before the first await: the first process of a container receives only signals that it handles.
   * @param delayMs between "not ready" and the first step, so load balancers stop sending traffic
   * @param limitMs after which the process exits with code 1 although steps are unfinished
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
