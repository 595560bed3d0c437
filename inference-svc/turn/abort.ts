/** The failure of a turn ended from outside: by the client, a deadline or the end of the process. */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { TurnSignal } from "./signal.ts";

/** The fault given as abort reason, or a general fault for any other reason. */
export const abortFault = (signal: TurnSignal): Fault =>
  signal.reason instanceof Fault
    ? signal.reason
    : new Fault(FaultReason.DEADLINE_EXCEEDED, "The turn was ended", { cause: signal.reason });

/** Called before new work for a turn begins. @throws Fault when the turn is over */
export function throwIfAborted(signal: TurnSignal): void {
  if (signal.aborted) throw abortFault(signal);
}

/** Waits. @throws Fault as soon as the turn is over */
export function waitUnlessAborted(ms: number, signal: TurnSignal): Promise<void> {
  throwIfAborted(signal);
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(abortFault(signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop);
  });
}

/** One call on behalf of a turn. Its signal aborts at the end of the turn, at the call's time limit, and at the end of the call. */
export class TimedCall {
  readonly #abort = new AbortController();
  readonly #turn: TurnSignal;
  readonly #timer: NodeJS.Timeout;

  /**
   * @param limitMs time limit of the call in milliseconds @param late creates the error at the time limit @throws Fault
   * when the turn is over
   */
  constructor(turn: TurnSignal, limitMs: number, late: () => Error) {
    throwIfAborted(turn);
    this.#turn = turn;
    this.#timer = setTimeout(() => this.#abort.abort(late()), limitMs);
    turn.addEventListener("abort", this.#stop);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Settles with the answer, or fails when the signal aborts, even if the answer ignores the signal. */
  race<Answer>(answer: Promise<Answer>): Promise<Answer> {
    const { signal } = this;
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      answer.then(resolve, reject);
    });
  }

  /** Aborts everything that a failure may have left running. */
  end(): void {
    clearTimeout(this.#timer);
    this.#turn.removeEventListener("abort", this.#stop);
    this.#abort.abort();
  }

  readonly #stop = (): void => this.#abort.abort(abortFault(this.#turn));
}
