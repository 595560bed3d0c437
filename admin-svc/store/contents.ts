/** Captured contents: stored for keys with `capture_content`, read one at a time, deleted when they expire or their key is revoked. */
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { type Author, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import type { CapturedContentsTable } from "./tables/console.ts";
import { runInTransaction } from "./postgres/transaction.ts";

export type ContentRow = Selectable<CapturedContentsTable>;

/** Rows deleted by one statement, to hold few locks. */
const batch = 1_000;

/**
 * Stores new contents. Contents of a revoked key, or of a key without `capture_content`, are left out.
 * @returns how many were stored
 */
export function insertContents(database: Kysely<Database>, rows: readonly ContentRow[]): Promise<number> {
  return runInTransaction(database, async (transaction) => {
    let stored = 0;
    for (const row of rows) {
      // The lock makes a concurrent revocation wait; otherwise it would miss this row.
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

/** The turn of a content, by one of its ids. */
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

/** When the content of a turn expires; undefined when there is none. */
export const contentExpiry = async (database: Kysely<Database>, place: ContentPlace): Promise<Date | undefined> =>
  (await contentQuery(database, place).select("expires_at").executeTakeFirst())?.expires_at;

/** Reads the content of a turn, still encrypted, and records the reader in the audit log. Undefined when there is none. */
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
