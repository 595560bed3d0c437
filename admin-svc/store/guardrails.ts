/** Stores guardrails: rules for the requests and responses of keys. */
import type { GuardrailSettings } from "@sluice/proto/contract/records/guardrail-record.js";
import { type Kysely, type Transaction, type UpdateObject, sql } from "kysely";
import { requireAccount } from "./account.ts";
import { type Author, changedFields, isSame } from "./audit.ts";
import type { Database } from "./database.ts";
import { type GuardrailRow, changedColumns, policyColumn } from "./guardrail-columns.ts";
import { type Page, type PagedRows, readPage } from "./page.ts";
import { type PolicyChange, maxNamedKeys, recordChange, recordNoChange } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

export interface NewGuardrail extends GuardrailSettings {
  readonly name: string;
}

export type ChangedGuardrail = PolicyChange & { readonly row: GuardrailRow };

/**
 * Creates a guardrail, without assignments; a default guardrail of the workspace or account applies to all its keys at
 * once. @throws AccountError
 */
export function createGuardrail(
  database: Kysely<Database>,
  author: Author,
  guardrail: NewGuardrail,
): Promise<ChangedGuardrail> {
  return runInTransaction(database, async (transaction) => {
    if (guardrail.account_default === true) requireAccount(author);
    const { name, content_filters = [], routing_policy = {} } = guardrail;
    const row = await transaction
      .insertInto("guardrails")
      .values({
        ...changedColumns(guardrail),
        workspace_id: author.workspaceId,
        name,
        content_filters: JSON.stringify(content_filters),
        routing_policy: policyColumn(routing_policy),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    const entry = { action: "guardrails.create", target: row.id, after: row };
    return { row, ...(await recordChange(transaction, author, entry, isShared(row) ? null : [])) };
  });
}

export type ListedGuardrail = GuardrailRow & {
  /** Number of keys to which the guardrail is assigned. */
  readonly keys: number;
  /** Number of unrevoked keys that have the guardrail in addition to an assigned one. */
  readonly further_keys: number;
};

/** Lists guardrails with the numbers of their keys. */
export function listGuardrails(database: Kysely<Database>, workspaceId: string): Promise<ListedGuardrail[]> {
  return database
    .selectFrom("guardrails")
    .leftJoin("guardrail_key_assignments", "guardrail_id", "id")
    .selectAll("guardrails")
    .select((select) => select.cast<number>(select.fn.count("key_hash"), "integer").as("keys"))
    .select(
      sql<number>`(
        select count(*)::integer from api_keys as listing
        where listing.further_guardrails @> array[guardrails.id::text] and listing.revoked_at is null)`.as(
        "further_keys",
      ),
    )
    .where("workspace_id", "=", workspaceId)
    .groupBy("id")
    .orderBy("guardrails.created_at")
    .orderBy("id")
    .execute();
}

/** Lists a page of guardrails, oldest first. */
export const pageOfGuardrails = (
  database: Kysely<Database>,
  workspaceId: string,
  page: Page,
): Promise<PagedRows<GuardrailRow>> =>
  readPage(
    database,
    {
      scope: ["guardrails", workspaceId],
      listed: sql`select id, created_at from guardrails where workspace_id = ${workspaceId}`,
      order: [
        [sql`created_at`, "time"],
        [sql`id`, "uuid"],
      ],
      rows: sql`join guardrails on guardrails.id = page.id`,
      columns: sql`guardrails.*`,
    },
    page,
  );

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

export interface GuardrailKeys {
  /** Hashes of the keys to which the guardrail is assigned. */
  readonly assigned: readonly string[];
  /** Hashes of the keys, without revoked ones, that have the guardrail in addition to an assigned guardrail. */
  readonly further: readonly string[];
}

export async function keysOfGuardrail(database: Kysely<Database>, id: string): Promise<GuardrailKeys> {
  const assigned = await database
    .selectFrom("guardrail_key_assignments")
    .select("key_hash as hash")
    .where("guardrail_id", "=", id)
    .orderBy("key_hash")
    .execute();
  const further = await database
    .selectFrom("api_keys")
    .select("hash")
    .where(hasFurther(id))
    .where("revoked_at", "is", null)
    .orderBy("hash")
    .execute();
  return { assigned: assigned.map(({ hash }) => hash), further: further.map(({ hash }) => hash) };
}

/** Changes a guardrail; undefined when the workspace has no such guardrail. @throws AccountError */
export function updateGuardrail(
  database: Kysely<Database>,
  author: Author,
  id: string,
  change: GuardrailSettings,
): Promise<ChangedGuardrail | undefined> {
  return runInTransaction(database, async (transaction) => {
    const before = await lockGuardrail(transaction, author.workspaceId, id);
    if (!before) return undefined;
    if (before.account_default || change.account_default === true) requireAccount(author);
    const stored = await writeGuardrail(transaction, id, {
      ...changedColumns(change),
      ...(change.routing_policy && {
        routing_policy: policyColumn({ ...before.routing_policy, ...change.routing_policy }),
      }),
      updated_at: sql<Date>`updated_at`,
    });
    const differing = changedFields(before, stored);
    if (isSame(differing)) return { row: stored, ...(await recordNoChange(transaction)) };
    const row = await writeGuardrail(transaction, id, { updated_at: sql<Date>`clock_timestamp()` });
    const entry = { action: "guardrails.update", target: id, ...differing };
    return { row, ...(await recordChange(transaction, author, entry, await affectedBy(transaction, before, row))) };
  });
}

const writeGuardrail = (
  transaction: Transaction<Database>,
  id: string,
  columns: UpdateObject<Database, "guardrails">,
): Promise<GuardrailRow> =>
  transaction.updateTable("guardrails").set(columns).where("id", "=", id).returningAll().executeTakeFirstOrThrow();

/**
 * Deletes a guardrail with its assignments; undefined when the workspace has no such guardrail. @throws AccountError
 */
export function deleteGuardrail(
  database: Kysely<Database>,
  author: Author,
  id: string,
): Promise<PolicyChange | undefined> {
  return runInTransaction(database, async (transaction) => {
    const before = await lockGuardrail(transaction, author.workspaceId, id);
    if (!before) return undefined;
    if (before.account_default) requireAccount(author);
    await lockHolders(transaction, id);
    const released = await transaction
      .deleteFrom("guardrail_key_assignments")
      .where("guardrail_id", "=", id)
      .returning("key_hash")
      .execute();
    const loosed = await removeFurther(transaction, id);
    await transaction.deleteFrom("guardrails").where("id", "=", id).execute();
    const keyHashes = [...new Set([...released.map((row) => row.key_hash), ...loosed])];
    const entry = { action: "guardrails.delete", target: id, before: { ...before, key_hashes: keyHashes } };
    return recordChange(transaction, author, entry, isShared(before) ? null : keyHashes);
  });
}

/** Removes the guardrail from the additional guardrails of all keys. @returns hashes of the keys */
async function removeFurther(transaction: Transaction<Database>, id: string): Promise<string[]> {
  const rows = await transaction
    .updateTable("api_keys")
    .set({ further_guardrails: sql<string[] | null>`nullif(array_remove(further_guardrails, ${id}), '{}')` })
    .where(hasFurther(id))
    .returning("hash")
    .execute();
  return rows.map(({ hash }) => hash);
}

/** Condition on keys that have the guardrail as an additional one, in a form for which Postgres uses the index. */
const hasFurther = (id: string) => sql<boolean>`further_guardrails @> array[${id}::text]`;

/** Locks the keys of a guardrail in the same order as a bulk assignment, so the two cannot deadlock. */
async function lockHolders(transaction: Transaction<Database>, id: string): Promise<void> {
  await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("hash", "in", holders(transaction, id))
    .orderBy("hash")
    .forUpdate()
    .execute();
}

/**
 * Prevents guardrails from being deleted until the commit, without blocking other changes of their keys.
 * @returns ids of the guardrails that exist in the workspace
 */
export async function keepGuardrails(
  transaction: Transaction<Database>,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await transaction
    .selectFrom("guardrails")
    .select("id")
    .where("id", "=", sql<string>`any(${ids}::uuid[])`)
    .where("workspace_id", "=", workspaceId)
    .orderBy("id")
    .forKeyShare()
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/**
 * Locks the guardrail. Assignments wait until the commit, so no assignment is made between the write and the list
 * of affected keys.
 */
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

/** Hashes of the keys whose policy changes; null for every key, because a workspace may gain keys until the commit. */
async function affectedBy(
  transaction: Transaction<Database>,
  before: GuardrailRow,
  after: GuardrailRow,
): Promise<readonly string[] | null> {
  if (JSON.stringify(withoutUnenforced(before)) === JSON.stringify(withoutUnenforced(after))) return [];
  return isShared(before) || isShared(after) ? null : holdersOf(transaction, after.id);
}

/** Whether the guardrail also applies to keys without an assignment. */
const isShared = (row: GuardrailRow): boolean => row.workspace_default || row.account_default;

/** The columns that affect a policy. The name does, because receipts show it; the description does not. */
const withoutUnenforced = (row: GuardrailRow): object => ({ ...row, description: null, updated_at: null });

/** Hashes of the keys to which the guardrail is assigned, or that have it in addition to an assigned one. */
const holders = (transaction: Transaction<Database>, id: string) =>
  transaction
    .selectFrom("guardrail_key_assignments")
    .select("key_hash")
    .where("guardrail_id", "=", id)
    .union(transaction.selectFrom("api_keys").select("hash as key_hash").where(hasFurther(id)));

/** Reads one key more than the limit, to notice when there are too many. */
async function holdersOf(transaction: Transaction<Database>, id: string): Promise<string[]> {
  const rows = await holders(transaction, id)
    .limit(maxNamedKeys + 1)
    .execute();
  return rows.map((row) => row.key_hash);
}
