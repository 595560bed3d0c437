/** Which key holds which guardrail. Whole lists at once, all or nothing. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "./database.ts";
import { type Page, type Paged, readTogether } from "./page.ts";
import { type PolicyChange, recordChange } from "./policy.ts";
import { transact } from "./transaction.ts";

export interface Bulk {
  readonly workspaceId: string;
  /** UUID, in the form in which it is stored. */
  readonly guardrailId: string;
  /** Distinct. */
  readonly keyHashes: readonly string[];
  /** Hash of the management key that asks; null for the command line. */
  readonly askedBy: string | null;
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
      .columns(["key_hash", "guardrail_id", "assigned_by"])
      .expression(
        transaction
          .selectFrom(sql<{ key_hash: string }>`unnest(${keyHashes}::text[])`.as<"listed">(sql`listed (key_hash)`))
          .select([
            "listed.key_hash",
            sql<string>`${bulk.guardrailId}::uuid`.as("guardrail_id"),
            sql<string | null>`${bulk.askedBy}::text`.as("assigned_by"),
          ]),
      )
      .onConflict((conflict) =>
        conflict
          .column("key_hash")
          .doUpdateSet((update) => ({
            guardrail_id: update.ref("excluded.guardrail_id"),
            assigned_by: update.ref("excluded.assigned_by"),
            assignment_id: update.ref("excluded.assignment_id"),
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

/** A key that holds a guardrail. */
export interface AssignmentRow {
  readonly id: string;
  readonly guardrail_id: string;
  readonly key_hash: string;
  readonly key_name: string;
  readonly key_label: string;
  readonly assigned_by: string | null;
  readonly created_at: Date;
}

export interface AssignmentFilter {
  readonly workspaceId: string;
  /** All guardrails of the workspace when absent. */
  readonly guardrailId?: string | undefined;
}

/** By guardrail, oldest first. Undefined when the workspace has no such guardrail. */
export function pageOfAssignments(
  database: Kysely<Database>,
  { workspaceId, guardrailId }: AssignmentFilter,
  page: Page,
): Promise<Paged<AssignmentRow> | undefined> {
  return readTogether(database, async (snapshot) => {
    const guardrails = snapshot.selectFrom("guardrails").where("guardrails.workspace_id", "=", workspaceId);
    if (guardrailId !== undefined) {
      const found = await guardrails.select("id").where("id", "=", guardrailId).executeTakeFirst();
      if (!found) return undefined;
    }
    const assignments = guardrails
      .innerJoin("guardrail_key_assignments as assignment", "assignment.guardrail_id", "guardrails.id")
      .$if(guardrailId !== undefined, (all) => all.where("assignment.guardrail_id", "=", guardrailId as string));
    const { total } = await assignments
      .select((select) => select.cast<number>(select.fn.countAll(), "integer").as("total"))
      .executeTakeFirstOrThrow();
    const rows = await assignments
      .innerJoin("api_keys as key", "key.hash", "assignment.key_hash")
      .select([
        "assignment.assignment_id as id",
        "assignment.guardrail_id",
        "assignment.key_hash",
        "key.name as key_name",
        "key.label as key_label",
        "assignment.assigned_by",
        "assignment.created_at",
      ])
      .orderBy("assignment.guardrail_id")
      .orderBy("assignment.created_at")
      .orderBy("assignment.key_hash")
      .offset(page.offset)
      .limit(page.limit)
      .execute();
    return { rows, total };
  });
}
