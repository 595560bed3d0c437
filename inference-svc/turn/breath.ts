/** Long work that lets others have their turn, and ends with the turn that it is done for. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { throwIfAborted } from "./abort.ts";
import type { TurnSignal } from "./signal.ts";

/** Milliseconds after which others are let through. */
const longestMs = 10;

/** Work that can be left for a while at every step: nearly all of it is done without, and a promise costs more than a small text. */
export type Pauses<Result = void> = Generator<undefined, Result>;

export class Breath {
  readonly #signal: TurnSignal;
  #since = performance.now();

  constructor(signal: TurnSignal) {
    this.#signal = signal;
  }

  /** Does all of the work, at once when it is short. @throws Fault when nobody waits any more */
  through<Result>(work: Pauses<Result>): Promise<Result> | Result {
    for (let step = work.next(); ; step = work.next()) {
      if (step.done === true) return step.value;
      if (this.isDue) return this.#goOn(work);
    }
  }

  async #goOn<Result>(work: Pauses<Result>): Promise<Result> {
    await this.take();
    let step = work.next();
    for (; step.done !== true; step = work.next()) if (this.isDue) await this.take();
    return step.value;
  }

  get isDue(): boolean {
    return performance.now() - this.#since > longestMs;
  }

  /** @throws Fault when nobody waits any more */
  async take(): Promise<void> {
    await nextTurn();
    throwIfAborted(this.#signal);
    this.#since = performance.now();
  }
}
