/** Creates the first management key of a workspace. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Author } from "./audit.ts";
import type { Database } from "./database.ts";
import { type KeyRow, type NewKey, addKey } from "./keys.ts";
import { lockGeneration } from "./policy.ts";
import { transact } from "./postgres/transaction.ts";

/** Undefined when the workspace has a valid management key. Only one of several concurrent calls creates a key. */
export function createFirstKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<KeyRow | undefined> {
  return transact(database, async (transaction) => {
    await lockGeneration(transaction);
    if (await isAdministered(transaction, author.workspaceId)) return undefined;
    return (await addKey(transaction, author, key))?.row;
  });
}

/** A separate statement after the lock, so that it sees the key of a faster call. */
async function isAdministered(transaction: Transaction<Database>, workspaceId: string): Promise<boolean> {
  const key = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
    .where("kind", "=", "management")
    // The secret of the console's key is not kept, so nobody can present it.
    .where("console", "=", false)
    .where("revoked_at", "is", null)
    .where("disabled", "=", false)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", sql<Date>`now()`)]))
    .limit(1)
    .executeTakeFirst();
  return key !== undefined;
}
