/** Builds layers that rewrite requests, map batches, or stop a call before its end. */
import { ForwardedAnswer, toDeferredAnswer } from "./answer-kinds.ts";
import type { TurnRequest } from "./request.ts";
import type { Scope } from "./scope.ts";
import { TurnAbort } from "./signal.ts";
import type { Answer, Batch, Layer, Turn } from "./turn.ts";

/** A layer that rewrites or refuses the request, and costs nothing per event. */
export const requestLayer =
  (rewrite: (request: TurnRequest, scope: Scope) => TurnRequest | Promise<TurnRequest>): Layer =>
  (next) =>
  (request, scope) => {
    const rewritten = rewrite(request, scope);
    return rewritten instanceof Promise ? toDeferredAnswer(begin(next, rewritten, scope)) : next(rewritten, scope);
  };

const begin = async (turn: Turn, request: Promise<TurnRequest>, scope: Scope): Promise<Answer> =>
  turn(await request, scope);

/** A layer that maps batches. `open` is called once for each turn, and returns the function that maps a batch, with its state in a closure. */
export const batchLayer =
  (open: (request: TurnRequest, scope: Scope) => (batch: Batch) => Batch): Layer =>
  (next) =>
  (request, scope) =>
    new MappedAnswer(next(request, scope), open(request, scope));

class MappedAnswer extends ForwardedAnswer {
  readonly #step: (batch: Batch) => Batch;

  constructor(answer: Answer, step: (batch: Batch) => Batch) {
    super(answer);
    this.#step = step;
  }

  protected override passed(batch: Batch): Batch {
    return this.#step(batch);
  }
}

/** The answer to a call a layer may stop early, while the turn goes on. */
export class StoppableAnswer {
  readonly #batches: AsyncIterator<Batch>;
  /** A signal for this call alone, because the turn goes on after it. */
  readonly #signal = new TurnAbort();
  #reading: Promise<unknown> | undefined;

  /**
   * @param call makes the call, at once
   * @throws errors of `call`
   */
  constructor(call: (scope: Scope) => Answer, scope: Scope) {
    const { signal } = scope;
    const follow = () => this.#signal.abort(signal.reason);
    signal.addEventListener("abort", follow);
    if (signal.aborted) follow();
    this.#batches = call(scope.with({ signal: this.#signal }))[Symbol.asyncIterator]();
  }

  /** Reads the next batch; must not be called again before it has come. */
  next(): Promise<IteratorResult<Batch>> {
    const reading = this.#batches.next();
    this.#reading = reading;
    return reading;
  }

  /**
   * Stops the call, and waits until the provider has stopped, because only then its usage is known. A generator that
   * waits for its next batch ignores `return`, so the call is aborted as well.
   * @param reason abort reason of the call
   */
  async stop(reason: Error): Promise<void> {
    this.#signal.abort(reason);
    await Promise.allSettled([this.#reading, this.#batches.return?.()]);
  }
}
