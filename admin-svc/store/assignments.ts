/** Which key holds which guardrail. Whole lists at once, all or nothing. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "./database.ts";
import { type PolicyChange, recordChange } from "./policy.ts";
import { transact } from "./transaction.ts";

export interface Bulk {
  readonly workspaceId: string;
  /** UUID, in the form in which it is stored. */
  readonly guardrailId: string;
  /** Distinct. */
  readonly keyHashes: readonly string[];
}

export interface BulkResult extends PolicyChange {
  readonly count: number;
}

/** The keys that hold the guardrail now are counted; undefined when the workspace has no such guardrail. */
export function assignKeys(database: Kysely<Database>, bulk: Bulk): Promise<BulkResult | undefined> {
  return transact(database, async (transaction) => {
    if (!(await holdGuardrail(transaction, bulk))) return undefined;
    const keyHashes = await lockKeys(transaction, bulk);
    const changed = await transaction
      .insertInto("guardrail_key_assignments")
      .columns(["key_hash", "guardrail_id"])
      .expression(
        transaction
          .selectFrom(sql<{ key_hash: string }>`unnest(${keyHashes}::text[])`.as<"listed">(sql`listed (key_hash)`))
          .select(["listed.key_hash", sql<string>`${bulk.guardrailId}::uuid`.as("guardrail_id")]),
      )
      .onConflict((conflict) =>
        conflict
          .column("key_hash")
          .doUpdateSet((update) => ({
            guardrail_id: update.ref("excluded.guardrail_id"),
            created_at: sql<Date>`now()`,
          }))
          .whereRef("guardrail_key_assignments.guardrail_id", "<>", "excluded.guardrail_id"),
      )
      .returning("key_hash")
      .execute();
    return { count: keyHashes.length, ...(await recordChange(transaction, changed.map(hashOf))) };
  });
}

/** The keys that held the guardrail are counted; undefined when the workspace has no such guardrail. */
export function unassignKeys(database: Kysely<Database>, bulk: Bulk): Promise<BulkResult | undefined> {
  return transact(database, async (transaction) => {
    if (!(await holdGuardrail(transaction, bulk))) return undefined;
    const keyHashes = await lockKeys(transaction, bulk);
    const removed = await transaction
      .deleteFrom("guardrail_key_assignments")
      .where("key_hash", "=", sql<string>`any(${keyHashes}::text[])`)
      .where("guardrail_id", "=", bulk.guardrailId)
      .returning("key_hash")
      .execute();
    return { count: removed.length, ...(await recordChange(transaction, removed.map(hashOf))) };
  });
}

const hashOf = (row: { key_hash: string }): string => row.key_hash;

/** Keeps the guardrail from being deleted until the commit, without standing in the way of other assignments. */
async function holdGuardrail(transaction: Transaction<Database>, bulk: Bulk): Promise<boolean> {
  const row = await transaction
    .selectFrom("guardrails")
    .select("id")
    .where("id", "=", bulk.guardrailId)
    .where("workspace_id", "=", bulk.workspaceId)
    .forKeyShare()
    .executeTakeFirst();
  return row !== undefined;
}

/** The workspace's own keys among those listed. Locked in the order of their hashes: two lists that overlap would deadlock otherwise. */
async function lockKeys(transaction: Transaction<Database>, bulk: Bulk): Promise<string[]> {
  const rows = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", bulk.workspaceId)
    .where("revoked_at", "is", null)
    .where("hash", "=", sql<string>`any(${bulk.keyHashes}::text[])`)
    .orderBy("hash")
    .forUpdate()
    .execute();
  return rows.map((row) => row.hash);
}
