/** Creates the first management key of a workspace; in the default workspace it is a key of the account. */
import { type Kysely, type Transaction, sql } from "kysely";
import { KeyKind, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import type { Author } from "./audit.ts";
import { type Database, defaultWorkspaceId } from "./database.ts";
import { type ChangedKey, type KeyRow, type NewKey, addKey } from "./keys.ts";
import { lockGeneration } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

/** Undefined when the workspace has a valid management key. Only one of several concurrent calls creates a key. */
export function createFirstKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<KeyRow | undefined> {
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    if (await isAdministered(transaction, author.workspaceId)) return undefined;
    return (await addKey(transaction, author, { ...key, account: isDefault(author) }))?.row;
  });
}

/**
 * Adds a key chosen by the operator to the existing keys. It is a key of the account if it is the first management key of the default workspace. Undefined
 * when its hash is already known: that key stays as it is, even when it was revoked.
 */
export function registerKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<ChangedKey | undefined> {
  return runInTransaction(database, async (transaction) => {
    if (kindOfKey(key.key) !== KeyKind.MANAGEMENT) return addKey(transaction, author, key);
    await lockGeneration(transaction);
    const account = isDefault(author) && !(await isAdministered(transaction, author.workspaceId));
    return addKey(transaction, author, { ...key, account });
  });
}

/** Keys of the account belong to the default workspace. */
const isDefault = ({ workspaceId }: Author): boolean => workspaceId === defaultWorkspaceId;

/** A separate statement after the lock, to see the key of a faster call. */
async function isAdministered(transaction: Transaction<Database>, workspaceId: string): Promise<boolean> {
  const key = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
    .where("kind", "=", "management")
    // The secret of the console's key is not kept, so it cannot be presented.
    .where("console", "=", false)
    .where("revoked_at", "is", null)
    .where("disabled", "=", false)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", sql<Date>`now()`)]))
    .limit(1)
    .executeTakeFirst();
  return key !== undefined;
}
