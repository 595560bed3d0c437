/** Creates the first management key of a workspace. In the default workspace, the key is account-wide. */
import { type Kysely, type Transaction, sql } from "kysely";
import { KeyKind, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import type { Author } from "./audit.ts";
import { type Database, defaultWorkspaceId } from "./database.ts";
import { type ChangedKey, type KeyRow, type NewKey, addKey } from "./keys.ts";
import { lockGeneration } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

/**
 * Creates the key, or returns undefined when the workspace has a valid management key. Of several concurrent calls,
 * only one creates a key.
 */
export function createFirstKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<KeyRow | undefined> {
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    if (await isAdministered(transaction, author.workspaceId)) return undefined;
    return (await addKey(transaction, author, { ...key, account: isDefault(author) }))?.row;
  });
}

/**
 * Adds a key chosen by the operator. It is account-wide if it is the first management key of the default workspace.
 * Returns undefined when its hash is known: that key stays unchanged, even if it was revoked.
 */
export function registerKey(database: Kysely<Database>, author: Author, key: NewKey): Promise<ChangedKey | undefined> {
  return runInTransaction(database, async (transaction) => {
    if (kindOfKey(key.key) !== KeyKind.MANAGEMENT) return addKey(transaction, author, key);
    await lockGeneration(transaction);
    const account = isDefault(author) && !(await isAdministered(transaction, author.workspaceId));
    return addKey(transaction, author, { ...key, account });
  });
}

/** Whether the author acts in the default workspace, to which account-wide keys belong. */
const isDefault = ({ workspaceId }: Author): boolean => workspaceId === defaultWorkspaceId;

/**
 * Whether the workspace has a management key. This is a separate statement after the lock, to see the key of a
 * concurrent call.
 */
async function isAdministered(transaction: Transaction<Database>, workspaceId: string): Promise<boolean> {
  const key = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
    .where("kind", "=", "management")
    // The console's key does not count: its secret was discarded, so nobody can present it.
    .where("console", "=", false)
    .where("revoked_at", "is", null)
    .where("disabled", "=", false)
    .where((where) => where.or([where("expires_at", "is", null), where("expires_at", ">", sql<Date>`now()`)]))
    .limit(1)
    .executeTakeFirst();
  return key !== undefined;
}
