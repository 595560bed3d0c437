/** Cuts long work into time slices, and stops it when its turn is over. */
import { throwIfAborted } from "./abort.ts";
import type { TurnSignal } from "./signal.ts";

/**
 * Milliseconds after which the event loop serves other turns. A turn waits for the loop some five times on its way, and so
 * for as many slices of another's work.
 */
const maxSliceMs = 2;

/** Paused work, in the order of pausing. */
const paused: (() => void)[] = [];

/** Waits until all ready input and output has been served, and all work paused before has had its slice. */
const nextSlice = (): Promise<void> =>
  new Promise((resolve) => {
    if (paused.push(resolve) === 1) setImmediate(goOn);
  });

/** One slice at each round of the event loop: however many turns have long work, the others wait for one. */
function goOn(): void {
  paused.shift()?.();
  if (paused.length > 0) setImmediate(goOn);
}

/** Work with a possible pause at every `yield`. Nearly all of it ends before the first pause, and a promise for each step costs more than a small text. */
export type Yielding<Result = void> = Generator<undefined, Result>;

/** Work with a possible pause at every `yield`, waiting for the promises it yields. */
export type Waiting<Result = void> = Generator<Promise<unknown> | undefined, Result, unknown>;

/** Waits within such work, if there is anything to wait for. */
export function* awaitSettled<Value>(value: Promise<Value> | Value): Waiting<Value> {
  return value instanceof Promise ? ((yield value) as Value) : value;
}

export class TimeSlice {
  readonly #signal: TurnSignal;
  #since = performance.now();

  constructor(signal: TurnSignal) {
    this.#signal = signal;
  }

  /** Does all of the work, synchronously when it is short and waits for nothing. @throws Fault when the turn is over */
  run<Result>(work: Waiting<Result>): Promise<Result> | Result {
    for (let step = work.next(); ; step = work.next()) {
      if (step.done === true) return step.value;
      if (step.value !== undefined || this.isOver) return this.#goOn(work, step);
    }
  }

  async #goOn<Result>(
    work: Waiting<Result>,
    first: IteratorResult<Promise<unknown> | undefined, Result>,
  ): Promise<Result> {
    let step = first;
    while (step.done !== true) {
      if (step.value !== undefined) step = await this.#settle(work, step.value);
      else {
        if (this.isOver) await this.yield();
        step = work.next();
      }
    }
    return step.value;
  }

  async #settle<Result>(
    work: Waiting<Result>,
    promise: Promise<unknown>,
  ): Promise<IteratorResult<Promise<unknown> | undefined, Result>> {
    let value: unknown;
    try {
      value = await promise;
    } catch (error) {
      return work.throw(error);
    }
    return work.next(value);
  }

  /** Starts over, for a caller after a wait. */
  restart(): void {
    this.#since = performance.now();
  }

  get isOver(): boolean {
    return performance.now() - this.#since > maxSliceMs;
  }

  /** Lets the event loop serve other turns. @throws Fault when the turn is over */
  async yield(): Promise<void> {
    await nextSlice();
    throwIfAborted(this.#signal);
    this.#since = performance.now();
  }
}
