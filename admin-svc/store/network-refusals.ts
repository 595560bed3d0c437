/** Writes refusals of management keys because of their allowed networks to the audit log. */
import type { Kysely } from "kysely";
import { type Author, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { runInTransaction } from "./postgres/transaction.ts";

/** @param call HTTP method and path, or the path of an RPC */
export async function recordNetworkRefusal(
  database: Kysely<Database>,
  author: Author & { readonly keyHash: string },
  call: string,
): Promise<void> {
  const entry = { action: "keys.refuse", target: author.keyHash, after: { call, setting: "allowed_networks" } };
  await runInTransaction(database, (transaction) => recordAudit(transaction, author, entry));
}
