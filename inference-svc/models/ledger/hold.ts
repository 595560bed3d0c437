/** Adjusts the amount that budgets hold for a running call to its cost. */
import type { Scope } from "../../turn/scope.ts";
import type { Bill } from "../../turn/trace.ts";
import { toDeferredAnswer } from "../../turn/answer-kinds.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { Answer, type NextBatch, type Turn } from "../../turn/turn.ts";
import { totalCost } from "../../turn/usage.ts";
import type { Budgets, BudgetHold } from "./budget.ts";

/** Milliseconds between comparisons of a running stream's cost with the held amount. */
const lookMs = 250;

/** Maximum cost of a call in 10^-12 USD, and the request with limits that enforce it. */
export interface CostBound {
  readonly request: TurnRequest;
  readonly pico: bigint;
}

/** Wraps a turn so budgets hold the maximum cost of its call. @param worst computes this cost; undefined when no price is known */
export const budgetLayer =
  (budgets: Pick<Budgets, "reserve">, worst: (request: TurnRequest) => CostBound | undefined, turn: Turn): Turn =>
  (request, scope) => {
    if (!isBudgeted(scope)) return turn(request, scope);
    const bound = worst(request) ?? { request, pico: 0n };
    return toDeferredAnswer(budgets.reserve(scope, bound.pico).then((hold) => held(hold, bound, turn, scope)));
  };

async function held(hold: BudgetHold, { request, pico }: CostBound, turn: Turn, scope: Scope): Promise<Answer> {
  const watch = new HoldWatch(hold, pico, scope, scope.trace.bills.length);
  try {
    // If the turn was cancelled meanwhile, it ends before its call is made, and the record of the call releases the
    // hold.
    return new HeldAnswer(turn(request, scope), watch);
  } catch (error) {
    // Nothing was recorded, so no record will release the hold.
    await hold.settle(0n);
    throw error;
  }
}

/** Whether budgets hold an amount for the call. Calls for the operator's purposes are paid by the operator, up to a number for each request. */
export const isBudgeted = (scope: Scope): boolean => scope.hasBudget && scope.payer === "key";

class HoldWatch {
  readonly #hold: BudgetHold;
  readonly #scope: Scope;
  readonly #attempt: number;
  /** The held amount in 10^-12 USD. */
  #pico: bigint;
  /** The final cost reported to the budgets, in 10^-12 USD; undefined until then. */
  #settled: bigint | undefined;
  #lookedAt = performance.now();

  /** @param attempt index of the attempt, from 0 */
  constructor(hold: BudgetHold, pico: bigint, scope: Scope, attempt: number) {
    this.#hold = hold;
    this.#pico = pico;
    this.#scope = scope;
    this.#attempt = attempt;
    scope.signal.addEventListener("abort", this.#onAbort);
  }

  /** Reports the final cost of the call to the budgets. @returns undefined when nothing has to wait for them */
  end(): Promise<void> | undefined {
    this.#scope.signal.removeEventListener("abort", this.#onAbort);
    const cost = this.#cost;
    if (cost === this.#settled) return undefined;
    this.#settled = cost;
    return this.#hold.settle(cost);
  }

  /** Reports the cost after an abort. The abort also stops the socket, which completes the bill: the bill is read a microtask later. */
  readonly #onAbort = () => queueMicrotask(() => void this.end());

  look(): void {
    const now = performance.now();
    if (now - this.#lookedAt < lookMs) return;
    this.#lookedAt = now;
    const cost = this.#cost;
    if (cost <= this.#pico) return;
    this.#pico = cost;
    void this.#hold.raise(cost);
  }

  /** Cost of the call so far, in 10^-12 USD; 0 when nothing is known or no provider was called. */
  get #cost(): bigint {
    const bill: Bill | undefined = this.#scope.trace.bills[this.#attempt];
    const cost = bill?.usage?.cost;
    return cost ? totalCost(cost) : 0n;
  }
}

/** An answer during which the cost of its call is watched. */
class HeldAnswer extends Answer {
  readonly #answer: Answer;
  readonly #watch: HoldWatch;
  /** Returns the batch or end that is held back until the budgets know the cost of the call. */
  #held: (() => NextBatch) | undefined;
  #isReporting = false;
  #wake = () => {};

  constructor(answer: Answer, watch: HoldWatch) {
    super();
    this.#answer = answer;
    this.#watch = watch;
  }

  override next(wake: () => void): NextBatch {
    this.#wake = wake;
    if (this.#isReporting) return "pending";
    const held = this.#held;
    this.#held = undefined;
    return held ? held() : this.#read(wake);
  }

  #read(wake: () => void): NextBatch {
    let next: NextBatch;
    try {
      next = this.#answer.next(wake);
    } catch (error) {
      return this.#afterEnd(() => {
        throw error;
      });
    }
    if (next === "pending") return next;
    // The budgets learn the cost before the client gets the end, because the client may send its next request at once.
    if (next === "end" || next.at(-1)?.type === "end") return this.#afterEnd(() => next);
    this.#watch.look();
    return next;
  }

  #afterEnd(give: () => NextBatch): NextBatch {
    const reported = this.#watch.end();
    if (reported === undefined) return give();
    this.#held = give;
    this.#isReporting = true;
    void reported.then(() => {
      this.#isReporting = false;
      this.#wake();
    });
    return "pending";
  }

  override async close(): Promise<void> {
    await this.#answer.close();
    await this.#watch.end();
  }
}
