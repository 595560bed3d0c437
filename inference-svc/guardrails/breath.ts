/** Long work that lets others have their turn, and ends with the turn that it is done for. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { throwIfAborted } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";

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

  /** Does all of the work. @throws Fault when nobody waits any more */
  async through(work: Pauses): Promise<void> {
    while (work.next().done !== true) if (this.isDue) await this.take();
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
