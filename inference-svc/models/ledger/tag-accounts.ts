/**
 * The accounts from which tags are paid, as admin-svc names them in its answers. If a budget is set for every value of
 * a tag, most values have an account of their own, and values beyond a limit share one. A turn with a new value keeps
 * the amount for its further calls in the account of the value until the first answer. Until then, calls of values that
 * share an account may spend that amount, at most as many as this process requests at once. No budget is exceeded: a
 * further call of the turn may wait.
 */
import type { TagBudget } from "../../turn/tag-budgets.ts";

/** Maximum number of values known to share an account; the oldest is forgotten, and known again after its next answer. */
const maxSharing = 10_000;

export class TagAccounts {
  /** Owners of budgets whose last answer named the shared account. */
  readonly #sharing = new Set<string>();

  /** Name of the account that pays, as far as it is known. */
  accountOf({ owner, shared }: TagBudget): string {
    return shared !== undefined && this.#sharing.has(owner) ? shared : owner;
  }

  /**
   * @param account account an answer named for a call with these tags @returns whether it was unknown that one of the
   * tags is paid from this account
   */
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
