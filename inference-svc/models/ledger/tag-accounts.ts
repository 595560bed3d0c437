/**
 * Accounts from which tags are paid, as the answers of admin-svc name them: most values of an entry for every value have accounts of their own, and those beyond the
 * bound share one. A turn with an unknown value keeps the amounts for its further calls from the account of the value until its first answer; calls of the other
 * values that are requested in this time, at most as many as this process requests at once, do not leave them. No budget is exceeded: a further call of the turn may wait.
 */
import type { TagBudget } from "../../turn/tag-budgets.ts";

/** Maximum number of known values without accounts of their own; the oldest is forgotten, and known again by its next answer. */
const maxSharing = 10_000;

export class TagAccounts {
  /** Owners of budgets whose last answer named the shared account. */
  readonly #sharing = new Set<string>();

  /** Name of the account, as far as it is known. */
  accountOf({ owner, shared }: TagBudget): string {
    return shared !== undefined && this.#sharing.has(owner) ? shared : owner;
  }

  /** @param account named by an answer about a call with these tags @returns whether it was unknown that one of the tags is paid from it */
  learn(tags: readonly TagBudget[], account: string): boolean {
    for (const { owner, shared } of tags) {
      if (account === owner) return this.#sharing.delete(owner);
      if (account === shared) return this.#share(owner);
    }
    return false;
  }

  #share(owner: string): boolean {
    if (this.#sharing.has(owner)) return false;
    this.#sharing.add(owner);
    if (this.#sharing.size > maxSharing) for (const oldest of this.#sharing) return this.#sharing.delete(oldest);
    return true;
  }
}
