/**
 * Linearizability: whether the results of several clients can be explained by one order, in which every operation takes effect at a moment between
 * its call and its return. The search is that of Wing and Gong with Lowe's memory of tried states: the same operations done with the same state
 * reached need not be tried again.
 */

export interface TimedOperation<Input, Output> {
  readonly input: Input;
  /** The result; undefined if unknown: the operation may have taken effect at any time after its call, or never. */
  readonly output: Output | undefined;
  /** Time of the call by a clock shared by all clients. */
  readonly calledAt: number;
  /** Time of the return by the same clock; Infinity if the result is unknown. */
  readonly returnedAt: number;
}

/** A sequential specification: the result of each operation if they run one after the other. */
export interface SequentialModel<State, Input, Output> {
  readonly initial: State;
  /** The state after an operation; undefined if the operation cannot have had this result. For an unknown result, any is possible. */
  step(state: State, input: Input, output: Output | undefined): State | undefined;
  /** A key that is equal for equal states. */
  keyOf(state: State): string;
}

/** Whether the operations are linearizable. The search takes time in the number of overlapping operations, not in their total. */
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

/** Pending operations that were called before any other pending one returned. */
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
