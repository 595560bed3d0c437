/** Keeps the last refusal of each payer, which also answers other calls that were already waiting. */

/** Maximum number of payers: applications may name any number of tags. */
const maxPayers = 1_000;

export interface BudgetRefusal<Answer> {
  /** performance.now() of the request. */
  readonly requestedAt: number;
  /** The refused amount in 10^-12 USD, including the amount that must remain in the budget. */
  readonly size: bigint;
  readonly answer: Answer;
}

export class Refusals<Answer> {
  readonly #byPayer = new Map<string, BudgetRefusal<Answer>>();

  /** The last refusal of a payer. @param payer key for the set of budgets that decide about a call */
  get(payer: string): BudgetRefusal<Answer> | undefined {
    return this.#byPayer.get(payer);
  }

  /** Replaces the refusal of this payer. Beyond the limit, the oldest refusal is dropped, and its payer asks again. */
  set(payer: string, refusal: BudgetRefusal<Answer>): void {
    this.#byPayer.delete(payer);
    this.#byPayer.set(payer, refusal);
    if (this.#byPayer.size <= maxPayers) return;
    for (const oldest of this.#byPayer.keys()) return void this.#byPayer.delete(oldest);
  }

  clear(): void {
    this.#byPayer.clear();
  }
}
