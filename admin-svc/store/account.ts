/** What holds for the whole account: it belongs to the default workspace, and not each of its administrators may change it. */
import type { Author } from "./audit.ts";

/** Thrown inside of a transaction, so that nothing of the change is left. */
export class AccountError extends Error {
  override readonly name = "AccountError";
}

/** @throws AccountError */
export function requireAccount({ ofAccount }: Author): void {
  if (ofAccount !== true) throw new AccountError("the author may not change what holds for the whole account");
}
