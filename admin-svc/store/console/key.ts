/**
 * The management keys with which signed-in people act in the console. A key's secret is discarded at creation, so
 * nobody can present it.
 */
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import type { Kysely } from "kysely";
import type { Author } from "../audit.ts";
import type { Database } from "../database.ts";
import { addKey } from "../keys.ts";
import { lockGeneration } from "../policy.ts";
import { runInTransaction } from "../postgres/transaction.ts";

/** Hash of the console's key for the author's workspace, or for the account. A revoked key is replaced by a new one. */
export async function consoleKey(database: Kysely<Database>, author: Author): Promise<string> {
  return (await findConsoleKey(database, author)) ?? (await makeConsoleKey(database, author));
}

async function findConsoleKey(
  database: Kysely<Database>,
  { workspaceId, ofAccount = false }: Author,
): Promise<string | undefined> {
  const key = await database
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
    .where("account", "=", ofAccount)
    .where("console", "=", true)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  return key?.hash;
}

/** Fields of a console key for display, with its workspace; undefined when the key is disabled. */
export const findKeyOfPeople = (database: Kysely<Database>, hash: string) =>
  database
    .selectFrom("api_keys as key")
    .innerJoin("workspaces as workspace", "workspace.id", "key.workspace_id")
    .select([
      "key.hash as key_hash",
      "key.name as key_name",
      "key.label as key_label",
      "key.account",
      "workspace.id as workspace_id",
      "workspace.name as workspace_name",
    ])
    .where("key.hash", "=", hash)
    .where("key.disabled", "=", false)
    .executeTakeFirst();

const makeConsoleKey = (database: Kysely<Database>, author: Author): Promise<string> =>
  runInTransaction(database, async (transaction) => {
    // Searches again after the lock, to see a key that a concurrent call has created.
    await lockGeneration(transaction);
    const known = await findConsoleKey(transaction, author);
    if (known !== undefined) return known;
    const { ofAccount = false } = author;
    const name = ofAccount ? "people in the console, for the account" : "people in the console";
    const key = { name, key: mintKey(KeyKind.MANAGEMENT), account: ofAccount, console: true };
    const made = await addKey(transaction, author, key);
    if (!made) throw new Error("a freshly minted key exists already");
    return made.row.hash;
  });
