/** Guardrails: what a key that holds one may not say. */
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { type Author, difference, recordAudit } from "./audit.ts";
import type { Database, GuardrailsTable, StoredFilter } from "./database.ts";
import { type Page, type Paged, readTogether } from "./page.ts";
import { type PolicyChange, maxNamedKeys, recordChange } from "./policy.ts";
import { transact } from "./transaction.ts";

export type GuardrailRow = Selectable<GuardrailsTable>;

export interface NewGuardrail {
  readonly name: string;
  readonly description?: string | null;
  readonly contentFilters: readonly StoredFilter[];
}

/** What of a guardrail can be changed; what is absent stays as it is. */
export interface GuardrailChange {
  readonly name?: string;
  readonly description?: string | null;
  readonly contentFilters?: readonly StoredFilter[];
}

export type ChangedGuardrail = PolicyChange & { readonly row: GuardrailRow };

/** No key holds a new guardrail, so the policy stays as it is. */
export function createGuardrail(
  database: Kysely<Database>,
  author: Author,
  guardrail: NewGuardrail,
): Promise<GuardrailRow> {
  return transact(database, async (transaction) => {
    const row = await transaction
      .insertInto("guardrails")
      .values({
        workspace_id: author.workspaceId,
        name: guardrail.name,
        description: guardrail.description ?? null,
        content_filters: JSON.stringify(guardrail.contentFilters),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await recordAudit(transaction, author, { action: "guardrails.create", target: row.id, after: row });
    return row;
  });
}

export type ListedGuardrail = GuardrailRow & { readonly keys: number };

/** With the number of keys that hold each. */
export function listGuardrails(database: Kysely<Database>, workspaceId: string): Promise<ListedGuardrail[]> {
  return database
    .selectFrom("guardrails")
    .leftJoin("guardrail_key_assignments", "guardrail_id", "id")
    .selectAll("guardrails")
    .select((select) => select.cast<number>(select.fn.count("key_hash"), "integer").as("keys"))
    .where("workspace_id", "=", workspaceId)
    .groupBy("id")
    .orderBy("guardrails.created_at")
    .orderBy("id")
    .execute();
}

/** Oldest first. */
export function pageOfGuardrails(
  database: Kysely<Database>,
  workspaceId: string,
  page: Page,
): Promise<Paged<GuardrailRow>> {
  return readTogether(database, async (snapshot) => {
    const guardrails = snapshot.selectFrom("guardrails").where("workspace_id", "=", workspaceId);
    const { total } = await guardrails
      .select((select) => select.cast<number>(select.fn.countAll(), "integer").as("total"))
      .executeTakeFirstOrThrow();
    const rows = await guardrails
      .selectAll()
      .orderBy("created_at")
      .orderBy("id")
      .offset(page.offset)
      .limit(page.limit)
      .execute();
    return { rows, total };
  });
}

export function findGuardrail(
  database: Kysely<Database>,
  workspaceId: string,
  id: string,
): Promise<GuardrailRow | undefined> {
  return database
    .selectFrom("guardrails")
    .selectAll()
    .where("id", "=", id)
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
}

export async function keysOfGuardrail(database: Kysely<Database>, id: string): Promise<string[]> {
  const rows = await database
    .selectFrom("guardrail_key_assignments")
    .select("key_hash")
    .where("guardrail_id", "=", id)
    .orderBy("key_hash")
    .execute();
  return rows.map((row) => row.key_hash);
}

/** Undefined when the workspace has no such guardrail. */
export function updateGuardrail(
  database: Kysely<Database>,
  author: Author,
  id: string,
  { name, description, contentFilters }: GuardrailChange,
): Promise<ChangedGuardrail | undefined> {
  return transact(database, async (transaction) => {
    const before = await lockGuardrail(transaction, author.workspaceId, id);
    if (!before) return undefined;
    const row = await transaction
      .updateTable("guardrails")
      .set({
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(contentFilters !== undefined && { content_filters: JSON.stringify(contentFilters) }),
        updated_at: sql<Date>`clock_timestamp()`,
      })
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const holders = isOtherPolicy(before, row) ? await holdersOf(transaction, id) : [];
    const entry = { action: "guardrails.update", target: id, ...difference(before, row) };
    return { row, ...(await recordChange(transaction, author, entry, holders)) };
  });
}

/** Takes it from every key that holds it, too. Undefined when the workspace has no such guardrail. */
export function deleteGuardrail(
  database: Kysely<Database>,
  author: Author,
  id: string,
): Promise<PolicyChange | undefined> {
  return transact(database, async (transaction) => {
    const before = await lockGuardrail(transaction, author.workspaceId, id);
    if (!before) return undefined;
    await lockHolders(transaction, id);
    const released = await transaction
      .deleteFrom("guardrail_key_assignments")
      .where("guardrail_id", "=", id)
      .returning("key_hash")
      .execute();
    await transaction.deleteFrom("guardrails").where("id", "=", id).execute();
    const keyHashes = released.map((row) => row.key_hash);
    const entry = { action: "guardrails.delete", target: id, before: { ...before, key_hashes: keyHashes } };
    return recordChange(transaction, author, entry, keyHashes);
  });
}

/** As a bulk assignment does, and in the same order: one that moves some of these keys elsewhere at this moment waits, or is waited for. */
async function lockHolders(transaction: Transaction<Database>, id: string): Promise<void> {
  const holders = await transaction
    .selectFrom("guardrail_key_assignments")
    .select("key_hash")
    .where("guardrail_id", "=", id)
    .execute();
  await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("hash", "=", sql<string>`any(${holders.map((row) => row.key_hash)}::text[])`)
    .orderBy("hash")
    .forUpdate()
    .execute();
}

/** Assignments of this guardrail wait until the commit: none may slip in between what is written and which keys are told. */
function lockGuardrail(
  transaction: Transaction<Database>,
  workspaceId: string,
  id: string,
): Promise<GuardrailRow | undefined> {
  return transaction
    .selectFrom("guardrails")
    .selectAll()
    .where("id", "=", id)
    .where("workspace_id", "=", workspaceId)
    .forUpdate()
    .executeTakeFirst();
}

/** The name is part of the receipt of a turn. A description decides nothing. */
const isOtherPolicy = (before: GuardrailRow, after: GuardrailRow): boolean =>
  before.name !== after.name || JSON.stringify(before.content_filters) !== JSON.stringify(after.content_filters);

/** One more than can be named, when there are so many. */
async function holdersOf(transaction: Transaction<Database>, id: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom("guardrail_key_assignments")
    .select("key_hash")
    .where("guardrail_id", "=", id)
    .limit(maxNamedKeys + 1)
    .execute();
  return rows.map((row) => row.key_hash);
}
