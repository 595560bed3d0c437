/** Permission for account-wide changes: only some administrators of the default workspace have it. */
import type { Author } from "./audit.ts";

/** Thrown inside the transaction to roll back the change. */
export class AccountError extends Error {
  override readonly name = "AccountError";
}

/** @throws AccountError */
export function requireAccount({ ofAccount }: Author): void {
  if (ofAccount !== true) throw new AccountError("the author may not change what holds for the whole account");
}
