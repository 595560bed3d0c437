/**
 * Replaces the clock, the timers and the random numbers of this process, so Sluice's code runs unchanged while minutes pass in seconds, the same
 * way each time. The process must do nothing else: sockets and files know nothing of virtual time.
 */
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import { EventQueue } from "./event-queue.ts";
import { Random } from "../../support/random.ts";

/** Time of day at which every simulation starts, in milliseconds since 1970. */
const epochMs = Date.UTC(2026, 0, 1);
/** Start of the monotonic clock, far from zero to find code that confuses "never" with "at the start". */
const startMs = 1_000_000;

const realImmediate = setImmediate;

/** The part of a Node timer used by the simulated code. */
class VirtualTimer {
  isCancelled = false;
  ref = (): this => this;
  unref = (): this => this;
}

/** The event loop of a simulated process. */
export interface VirtualLoop {
  /** Milliseconds of the loop's own clock, which is ahead of the others by the work of the running callback. */
  readonly now: number;
  timer(run: () => void): void;
  immediate(run: () => void): void;
}

export class VirtualTime {
  /** The loop that runs code at the moment: timers that the code starts return to it. Undefined without simulated processes. */
  running: VirtualLoop | undefined;
  readonly #events = new EventQueue();
  #now = startMs;
  #settledAt = startMs;
  #isSettled = false;

  /** Milliseconds of virtual time. */
  get now(): number {
    return this.running?.now ?? this.#now;
  }

  after(ms: number, run: () => void | Promise<void>): void {
    this.#events.add(this.now + Math.max(0, ms), run);
  }

  /** Calls `run` now, and again after each interval until the end of the simulation. */
  every(ms: number, run: () => void): void {
    run();
    this.after(ms, () => this.every(ms, run));
  }

  /**
   * Lets virtual time pass.  @param settleMs milliseconds of virtual time between moments at which promises settle: 0 is exact; more is faster if
   * little code waits for promises
   */
  async pass(ms: number, settleMs = 0): Promise<void> {
    const until = this.#now + ms;
    this.#isSettled = false;
    for (;;) {
      const event = this.#events.first;
      const next = event === undefined ? until : Math.min(event.at, until);
      if (!this.#isSettled && (next === until || next > this.#settledAt + settleMs)) {
        this.#isSettled = true;
        this.#settledAt = this.#now;
        await settledInVirtualTime();
        continue;
      }
      if (event === undefined || event.at > until) break;
      this.#events.shift();
      this.#now = event.at;
      this.#isSettled = false;
      const running = event.run();
      if (running) await running;
    }
    this.#now = until;
  }

  /** Puts the clock, the timers and the random numbers of this process under virtual time. */
  install(seed: number): void {
    performance.now = () => this.now;
    Date.now = () => epochMs + Math.floor(this.now);
    const random = new Random(seed);
    Math.random = () => random.next();
    const cancel = (timer: unknown): void => {
      if (timer instanceof VirtualTimer) timer.isCancelled = true;
    };
    Object.assign(globalThis, {
      setTimeout: this.#setTimeout,
      setInterval: this.#setInterval,
      setImmediate: this.#setImmediate,
      clearTimeout: cancel,
      clearInterval: cancel,
    });
    const delay = (ms?: number, value?: unknown) => new Promise((resolve) => this.after(ms ?? 0, () => resolve(value)));
    Object.assign(timersPromises, { setTimeout: delay });
    syncBuiltinESMExports();
  }

  readonly #setTimeout = (run: (...values: unknown[]) => void, ms = 0, ...values: unknown[]): VirtualTimer => {
    const timer = new VirtualTimer();
    this.#inLoop(ms, () => timer.isCancelled || run(...values));
    return timer;
  };

  readonly #setInterval = (run: (...values: unknown[]) => void, ms: number, ...values: unknown[]): VirtualTimer => {
    const timer = new VirtualTimer();
    const again = () => {
      if (timer.isCancelled) return;
      run(...values);
      this.#inLoop(ms, again);
    };
    this.#inLoop(ms, again);
    return timer;
  };

  readonly #setImmediate = (run: (...values: unknown[]) => void, ...values: unknown[]): unknown =>
    this.running ? this.running.immediate(() => run(...values)) : realImmediate(run, ...values);

  /** Calls `run` after a delay, in the loop that asked for it, once the loop is free. */
  #inLoop(ms: number, run: () => void): void {
    const loop = this.running;
    this.after(ms, loop === undefined ? run : () => loop.timer(run));
  }
}

/** Resolves after all promises and ticks that can settle now. */
export const settledInVirtualTime = (): Promise<void> => new Promise((resolve) => realImmediate(resolve));
