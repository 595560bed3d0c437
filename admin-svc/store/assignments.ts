/** Which key holds which guardrail. Whole lists at once, all or nothing. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Author } from "./audit.ts";
import type { Database } from "./database.ts";
import { type Page, type Paged, readTogether } from "./page.ts";
import { type PolicyChange, recordChange } from "./policy.ts";
import { transact } from "./transaction.ts";

export interface Bulk {
  /** UUID, in the form in which it is stored. */
  readonly guardrailId: string;
  /** Distinct. */
  readonly keyHashes: readonly string[];
}

export interface BulkResult extends PolicyChange {
  readonly count: number;
}

/** The keys that hold the guardrail now are counted; undefined when the workspace has no such guardrail. */
export function assignKeys(database: Kysely<Database>, author: Author, bulk: Bulk): Promise<BulkResult | undefined> {
  return transact(database, async (transaction) => {
    if (!(await holdGuardrail(transaction, author, bulk))) return undefined;
    const keyHashes = await lockKeys(transaction, author, bulk);
    const moved = await moveKeys(transaction, author, bulk.guardrailId, keyHashes);
    const after = { guardrail_id: bulk.guardrailId, count: keyHashes.length };
    const entry = { action: "guardrails.assign", target: bulk.guardrailId, before: heldBefore(moved), after };
    return { count: keyHashes.length, ...(await recordChange(transaction, author, entry, moved.map(hashOf))) };
  });
}

interface Moved {
  readonly key_hash: string;
  /** The guardrail that it held before. */
  readonly previous: string | null;
}

/** @returns those that held another guardrail, or none: a statement of its own, so that it sees what was waited for */
async function moveKeys(
  transaction: Transaction<Database>,
  { keyHash: assignedBy }: Author,
  guardrailId: string,
  keyHashes: readonly string[],
): Promise<readonly Moved[]> {
  const { rows } = await sql<Moved>`
    with held as (
      select key_hash, guardrail_id from guardrail_key_assignments where key_hash = any(${keyHashes}::text[])
    ),
    moved as (
      insert into guardrail_key_assignments (key_hash, guardrail_id, assigned_by)
      select key_hash, ${guardrailId}::uuid, ${assignedBy}::text from unnest(${keyHashes}::text[]) as listed (key_hash)
      on conflict (key_hash) do update
        set guardrail_id = excluded.guardrail_id, assigned_by = excluded.assigned_by,
          assignment_id = excluded.assignment_id, created_at = now()
        where guardrail_key_assignments.guardrail_id <> excluded.guardrail_id
      returning key_hash
    )
    select key_hash, guardrail_id as previous from moved left join held using (key_hash)`.execute(transaction);
  return rows;
}

/** Hashes by the guardrail that they held, or `none`: what it takes to undo a bulk. */
function heldBefore(moved: readonly Moved[]): Record<string, readonly string[]> {
  const held: Record<string, string[]> = {};
  for (const { key_hash: keyHash, previous } of moved) (held[previous ?? "none"] ??= []).push(keyHash);
  return held;
}

/** The keys that held the guardrail are counted; undefined when the workspace has no such guardrail. */
export function unassignKeys(database: Kysely<Database>, author: Author, bulk: Bulk): Promise<BulkResult | undefined> {
  return transact(database, async (transaction) => {
    if (!(await holdGuardrail(transaction, author, bulk))) return undefined;
    const keyHashes = await lockKeys(transaction, author, bulk);
    const rows = await transaction
      .deleteFrom("guardrail_key_assignments")
      .where("key_hash", "=", sql<string>`any(${keyHashes}::text[])`)
      .where("guardrail_id", "=", bulk.guardrailId)
      .returning("key_hash")
      .execute();
    const removed = rows.map(hashOf);
    const before = { [bulk.guardrailId]: removed };
    const entry = { action: "guardrails.unassign", target: bulk.guardrailId, before, after: { count: removed.length } };
    return { count: removed.length, ...(await recordChange(transaction, author, entry, removed)) };
  });
}

const hashOf = (row: { key_hash: string }): string => row.key_hash;

/** Keeps the guardrail from being deleted until the commit, without standing in the way of other assignments. */
async function holdGuardrail(
  transaction: Transaction<Database>,
  { workspaceId }: Author,
  bulk: Bulk,
): Promise<boolean> {
  const row = await transaction
    .selectFrom("guardrails")
    .select("id")
    .where("id", "=", bulk.guardrailId)
    .where("workspace_id", "=", workspaceId)
    .forKeyShare()
    .executeTakeFirst();
  return row !== undefined;
}

/** The workspace's own keys among those listed. Locked in the order of their hashes: two lists that overlap would deadlock otherwise. */
async function lockKeys(transaction: Transaction<Database>, { workspaceId }: Author, bulk: Bulk): Promise<string[]> {
  const rows = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
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
