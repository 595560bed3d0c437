/** Checks permission for account-wide changes, which only some administrators of the default workspace have. */
import type { Author } from "./audit.ts";

/** Error of an author without account-wide permission; thrown inside the transaction to roll back the change. */
export class AccountError extends Error {
  override readonly name = "AccountError";
}

/** @throws AccountError unless the author may change account-wide records */
export function requireAccount({ ofAccount }: Author): void {
  if (ofAccount !== true) throw new AccountError("the author may not change what holds for the whole account");
}
