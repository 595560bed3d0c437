/**
 * Linearizability: whether one order explains the results of several clients, with every operation taking effect at a moment between its
 * call and its return. The search is that of Wing and Gong, with Lowe's memory of tried states: the same operations done and the same
 * state reached lead nowhere a second time.
 */

export interface TimedOperation<Input, Output> {
  readonly input: Input;
  /**
   * Undefined when the outcome is unknown: the operation may have taken effect at any time after its call, or never.
   */
  readonly output: Output | undefined;
  /** Time of the call by a clock shared by all clients. */
  readonly calledAt: number;
  /** Infinity where the output is unknown. */
  readonly returnedAt: number;
}

/** A sequential specification: the result of each operation, one after the other. */
export interface SequentialModel<State, Input, Output> {
  readonly initial: State;
  /** The state afterwards; undefined when the operation cannot have had this output. Any will do where it is unknown. */
  step(state: State, input: Input, output: Output | undefined): State | undefined;
  /** An equal key for equal states. */
  keyOf(state: State): string;
}

/** Takes time in the number of overlapping operations, not in the total number. */
export function isLinearizable<State, Input, Output>(
  history: readonly TimedOperation<Input, Output>[],
  model: SequentialModel<State, Input, Output>,
): boolean {
  const operations = history.toSorted((a, b) => a.calledAt - b.calledAt);
  const known = operations.reduce((mask, { output }, n) => (output === undefined ? mask : mask | bit(n)), 0n);
  const tried = new Set<string>();

  const explain = (done: bigint, state: State): boolean => {
    if ((done & known) === known) return true;
    const reached = `${done} ${model.keyOf(state)}`;
    if (tried.has(reached)) return false;
    tried.add(reached);
    for (const n of next(operations, done)) {
      const { input, output } = operations[n] as TimedOperation<Input, Output>;
      const after = model.step(state, input, output);
      if (after !== undefined && explain(done | bit(n), after)) return true;
    }
    return false;
  };
  return explain(0n, model.initial);
}

const bit = (n: number): bigint => 1n << BigInt(n);

/** Pending operations called before the return of any other pending one. */
function next(operations: readonly TimedOperation<unknown, unknown>[], done: bigint): number[] {
  const candidates: number[] = [];
  let firstReturn = Number.POSITIVE_INFINITY;
  for (const [n, { calledAt, returnedAt }] of operations.entries()) {
    if ((done & bit(n)) !== 0n) continue;
    if (calledAt > firstReturn) break;
    candidates.push(n);
    firstReturn = Math.min(firstReturn, returnedAt);
  }
  return candidates.filter((n) => (operations[n]?.calledAt ?? 0) <= firstReturn);
}
