/** The amount that a budget holds for one call: it follows the call's cost while that becomes known, and is held for as long as the call takes. */
import type { Bill, Scope } from "../turn/scope.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Batch, Turn } from "../turn/turn.ts";
import { totalOf } from "../turn/usage.ts";
import type { Budgets } from "./budget.ts";

export interface Hold {
  /** Tells the budget that the call costs at least so much, in 10^-12 USD. Never rejects: the record of the call says it again. */
  raise(pico: bigint): Promise<void>;
}

/** A stream is looked at this often while it runs. */
const lookMs = 250;
/** A budget lets go after ten minutes what nobody holds any longer, as when a process is gone. */
const renewMs = 4 * 60_000;

/** The most that a call costs, in 10^-12 USD, and the request that keeps it there. */
export interface Worst {
  readonly request: TurnRequest;
  readonly pico: bigint;
}

/** @param worst undefined when no price is known */
export const budgeted =
  (budgets: Pick<Budgets, "reserve">, worst: (request: TurnRequest) => Worst | undefined, turn: Turn): Turn =>
  async (request, scope) => {
    if (!spends(scope)) return turn(request, scope);
    const { request: limited, pico } = worst(request) ?? { request, pico: 0n };
    const hold = await budgets.reserve(scope, pico);
    const watch = new HoldWatch(hold, pico, scope, scope.trace.bills.length);
    try {
      // A turn that is over by now ends before its call is made, and the record of the call gives back what is held for it.
      return watch.over(await turn(limited, scope));
    } catch (error) {
      await watch.end();
      throw error;
    }
  };

/** Calls for the operator's own purposes are the operator's expense, up to a number for each request. */
const spends = ({ caller, purpose, charged }: Scope): boolean =>
  caller.hasBudget && (purpose === undefined || charged === true);

class HoldWatch {
  readonly #hold: Hold;
  readonly #scope: Scope;
  readonly #attempt: number;
  #pico: bigint;
  #lookedAt = performance.now();
  readonly #renewing: NodeJS.Timeout;

  /** @param attempt from 0 */
  constructor(hold: Hold, pico: bigint, scope: Scope, attempt: number) {
    this.#hold = hold;
    this.#pico = pico;
    this.#scope = scope;
    this.#attempt = attempt;
    this.#renewing = setInterval(() => void hold.raise(this.#pico), renewMs).unref();
    scope.signal.addEventListener("abort", this.#onAbort);
  }

  /** Hand-written: a generator would cost more at every batch. */
  over(batches: AsyncIterable<Batch>): AsyncIterable<Batch> {
    const look = async (result: IteratorResult<Batch>): Promise<IteratorResult<Batch>> => {
      // The client may ask again as soon as it has seen the end: the budget knows the cost before that.
      if (result.done === true || result.value.at(-1)?.type === "end") await this.end();
      else this.#look();
      return result;
    };
    const fail = async (error: unknown): Promise<never> => {
      await this.end();
      throw error;
    };
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = batches[Symbol.asyncIterator]();
        return {
          next: () => iterator.next().then(look, fail),
          return: async () => {
            const result = await iterator.return?.();
            await this.end();
            return result ?? { value: undefined, done: true };
          },
        };
      },
    };
  }

  /** Settles once the budget knows what the call costs. */
  async end(): Promise<void> {
    clearInterval(this.#renewing);
    this.#scope.signal.removeEventListener("abort", this.#onAbort);
    await this.#follow();
  }

  /** The socket is told of it as well, and its bill says what was used until then: a microtask later. */
  readonly #onAbort = () => queueMicrotask(() => void this.end());

  #look(): void {
    const now = performance.now();
    if (now - this.#lookedAt < lookMs) return;
    this.#lookedAt = now;
    void this.#follow();
  }

  #follow(): Promise<void> {
    const bill: Bill | undefined = this.#scope.trace.bills[this.#attempt];
    const cost = bill?.usage?.cost;
    const pico = cost ? totalOf(cost) : 0n;
    if (pico <= this.#pico) return Promise.resolve();
    this.#pico = pico;
    return this.#hold.raise(pico);
  }
}
