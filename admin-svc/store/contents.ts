/**
 * Stores captured contents of keys with `capture_content`. They are read one at a time, and deleted when they expire or
 * their key is revoked.
 */
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { type Author, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import type { CapturedContentsTable } from "./tables/console.ts";
import { runInTransaction } from "./postgres/transaction.ts";

export type ContentRow = Selectable<CapturedContentsTable>;

/** Maximum number of rows deleted by one statement, which limits the number of locks. */
const batch = 1_000;

/**
 * Stores captured contents; those of a revoked key, or of a key without `capture_content`, are skipped.
 * @returns the number of stored contents
 */
export function insertContents(database: Kysely<Database>, rows: readonly ContentRow[]): Promise<number> {
  return runInTransaction(database, async (transaction) => {
    let stored = 0;
    for (const row of rows) {
      // Locks the key: a concurrent revocation, which deletes the key's contents, waits and so finds this row.
      const { numAffectedRows = 0n } = await sql`
        insert into captured_contents (
          generation_id, key_hash, workspace_id, request_id, "user", opened_at, expires_at, key_id, salt, sealed
        )
        select ${row.generation_id}, hash, workspace_id, ${row.request_id}, ${row.user}, ${row.opened_at}, ${row.expires_at},
          ${row.key_id}, ${row.salt}, ${row.sealed}
        from api_keys
        where hash = ${row.key_hash} and workspace_id = ${row.workspace_id} and capture_content and revoked_at is null
        for share
        on conflict do nothing`.execute(transaction);
      stored += Number(numAffectedRows);
    }
    return stored;
  });
}

/** The turn of a captured content, by one of its ids. */
export interface ContentPlace {
  readonly workspaceId: string;
  readonly generationId?: string;
  readonly requestId?: string;
}

function contentQuery(database: Kysely<Database>, { workspaceId, generationId, requestId }: ContentPlace) {
  const [column, id] =
    generationId === undefined
      ? (["request_id", requestId ?? ""] as const)
      : (["generation_id", generationId] as const);
  return database
    .selectFrom("captured_contents")
    .where("workspace_id", "=", workspaceId)
    .where(column, "=", id)
    .where("expires_at", ">", sql<Date>`now()`)
    .orderBy("opened_at", "desc")
    .limit(1);
}

/** Time when the captured content of a turn expires; undefined without content. */
export const contentExpiry = async (database: Kysely<Database>, place: ContentPlace): Promise<Date | undefined> =>
  (await contentQuery(database, place).select("expires_at").executeTakeFirst())?.expires_at;

/**
 * Reads the captured content of a turn, still encrypted, and records the reader in the audit log; undefined without
 * content.
 */
export function readContent(
  database: Kysely<Database>,
  author: Author,
  place: ContentPlace,
): Promise<ContentRow | undefined> {
  return runInTransaction(database, async (transaction) => {
    const row = await contentQuery(transaction, place).selectAll().executeTakeFirst();
    if (row) await recordAudit(transaction, author, { action: "calls.content", target: row.generation_id });
    return row;
  });
}

export async function deleteContentsOfKey(transaction: Transaction<Database>, keyHash: string): Promise<void> {
  await transaction.deleteFrom("captured_contents").where("key_hash", "=", keyHash).execute();
}

export async function deleteContentsOfUser(
  transaction: Transaction<Database>,
  workspaceId: string,
  user: string,
): Promise<void> {
  await transaction
    .deleteFrom("captured_contents")
    .where("workspace_id", "=", workspaceId)
    .where("user", "=", user)
    .execute();
}

export async function deleteExpiredContents(database: Kysely<Database>): Promise<void> {
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      delete from captured_contents where (generation_id, key_hash) in (
        select generation_id, key_hash from captured_contents where expires_at <= now()
        limit ${batch}
      )`.execute(database);
    if (numAffectedRows < batch) return;
  }
}
