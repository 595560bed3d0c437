/** Divides long work into time slices, and stops it when its turn is over. */
import { throwIfAborted } from "./abort.ts";
import type { TurnSignal } from "./signal.ts";

/**
 * Milliseconds of work after which the event loop serves other turns. A turn waits for the event loop some five times,
 * each time for a slice of other turns' work.
 */
const maxSliceMs = 2;

/** Work paused, in the order in which it paused. */
const paused: (() => void)[] = [];

/** Waits until all ready input and output is served, and all work that paused earlier has had a slice. */
const nextSlice = (): Promise<void> =>
  new Promise((resolve) => {
    if (paused.push(resolve) === 1) setImmediate(goOn);
  });

/**
 * Lets one piece of paused work go on. There is one slice in each round of the event loop: however many turns have long
 * work, other turns wait for only one slice.
 */
function goOn(): void {
  paused.shift()?.();
  if (paused.length > 0) setImmediate(goOn);
}

/**
 * Work that can pause at every `yield`. Nearly all such work ends before its first pause, and a promise for each step
 * would cost more than a small text.
 */
export type Yielding<Result = void> = Generator<undefined, Result>;

/** Work that can pause at every `yield`, and waits for the promises that it yields. */
export type Waiting<Result = void> = Generator<Promise<unknown> | undefined, Result, unknown>;

/** Waits for a value within such work, if it is a promise. */
export function* awaitSettled<Value>(value: Promise<Value> | Value): Waiting<Value> {
  return value instanceof Promise ? ((yield value) as Value) : value;
}

export class TimeSlice {
  readonly #signal: TurnSignal;
  #since = performance.now();

  constructor(signal: TurnSignal) {
    this.#signal = signal;
  }

  /** Does all of the work, synchronously if it is short and waits for nothing. @throws Fault when the turn is over */
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

  /** Begins a new slice, for a caller that has waited. */
  restart(): void {
    this.#since = performance.now();
  }

  get isOver(): boolean {
    return performance.now() - this.#since > maxSliceMs;
  }

  /** Pauses, so the event loop can serve other turns. @throws Fault when the turn is over */
  async yield(): Promise<void> {
    await nextSlice();
    throwIfAborted(this.#signal);
    this.#since = performance.now();
  }
}
