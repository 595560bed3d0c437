/** Long work that lets others have their turn, and ends with the turn that it is done for. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { throwIfAborted } from "../../turn/abort.ts";
import type { TurnSignal } from "../../turn/signal.ts";

/** Milliseconds after which others are let through. */
const longestMs = 10;

export class Breath {
  readonly #signal: TurnSignal;
  #since = performance.now();

  constructor(signal: TurnSignal) {
    this.#signal = signal;
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
