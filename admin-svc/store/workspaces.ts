/**
 * Stores workspaces. Each has its own keys, guardrails, end users, budget and audit log, and cannot see those of
 * others.
 */
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { TagBudgetJson } from "@sluice/proto/contract/records/tag-budgets.js";
import type { WorkspaceSettings } from "../rules/workspace.ts";
import { type Author, changedFields, isSame, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { type WorkspacesTable, withLimitsJson } from "./tables/administration.ts";
import { type Page, type PagedRows, readPage } from "./page.ts";
import { type PolicyChange, lockGeneration, recordChange, recordNoChange } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

const columns = [
  "id",
  "name",
  "limit_usd",
  "limit_reset",
  "model_limits",
  "tag_budgets",
  "permissions",
  "required_tags",
  "created_at",
] as const;

export type WorkspaceRow = Pick<Selectable<WorkspacesTable>, (typeof columns)[number]>;

/** Finds a workspace by id or name. @param deleted whether to find deleted workspaces too */
export function findWorkspace(
  database: Kysely<Database>,
  idOrName: string,
  { deleted = false } = {},
): Promise<WorkspaceRow | undefined> {
  return database
    .selectFrom("workspaces")
    .select(columns)
    .where((where) => where.or([where(sql<string>`id::text`, "=", idOrName), where("name", "=", idOrName)]))
    .$if(!deleted, (query) => query.where("deleted_at", "is", null))
    .orderBy(sql`id::text = ${idOrName}`, "desc")
    .executeTakeFirst();
}

/** Whether a workspace is deleted; undefined for an id that was never issued. */
export async function findWorkspaceState(
  database: Kysely<Database>,
  id: string,
): Promise<{ readonly isDeleted: boolean } | undefined> {
  const row = await database
    .selectFrom("workspaces")
    .select("deleted_at")
    .where(sql<string>`id::text`, "=", id)
    .executeTakeFirst();
  return row && { isDeleted: row.deleted_at !== null };
}

/** Lists workspaces, the default workspace first. @param deleted whether to list only deleted workspaces */
export function listWorkspaces(database: Kysely<Database>, deleted = false): Promise<WorkspaceRow[]> {
  return database
    .selectFrom("workspaces")
    .select(columns)
    .where("deleted_at", deleted ? "is not" : "is", null)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
}

/**
 * Lists a page of workspaces, the default workspace first.
 * @param only id of the only workspace to list; undefined for all
 * @param deleted whether to list only deleted workspaces
 */
export const pageOfWorkspaces = (
  database: Kysely<Database>,
  page: Page,
  { only, deleted }: { readonly only: string | undefined; readonly deleted: boolean },
): Promise<PagedRows<WorkspaceRow>> =>
  readPage(
    database,
    {
      scope: ["workspaces", only ?? null, deleted],
      listed: sql`
        select id, created_at from workspaces
        where ${only === undefined ? sql`true` : sql`id = ${only}`} and (deleted_at is not null) = ${deleted}`,
      order: [
        [sql`created_at`, "time"],
        [sql`id`, "uuid"],
      ],
      rows: sql`join workspaces on workspaces.id = page.id`,
      columns: sql.join(columns.map((column) => sql`workspaces.${sql.ref(column)}`)),
    },
    page,
  );

const columnsOf = ({
  limitUsd,
  limitReset,
  modelLimits,
  tagBudgets,
  permissions,
  requiredTags,
}: WorkspaceSettings) => ({
  ...(limitUsd !== undefined && { limit_usd: limitUsd }),
  ...(limitReset !== undefined && { limit_reset: limitReset }),
  ...(modelLimits !== undefined && withLimitsJson({ model_limits: modelLimits })),
  ...(tagBudgets !== undefined && { tag_budgets: tagBudgets && JSON.stringify(tagBudgets) }),
  ...(permissions !== undefined && { permissions }),
  ...(requiredTags !== undefined && { required_tags: requiredTags }),
});

/** Whether a change of tag budgets changes which calls they count. */
const countsOthers = ({ tag_budgets: before }: WorkspaceRow, { tagBudgets: after }: WorkspaceSettings): boolean =>
  after !== undefined && countedTags(before) !== countedTags(after);

const countedTags = (entries: readonly Pick<TagBudgetJson, "tag" | "value">[] | null): string =>
  JSON.stringify([...new Set(entries?.map(({ tag, value }) => JSON.stringify([tag, value])))].toSorted());

/** Creates a workspace; undefined when the name is taken. Its creation is the first entry of its own audit log. */
export function createWorkspace(
  database: Kysely<Database>,
  author: Omit<Author, "workspaceId">,
  { name, ...settings }: WorkspaceSettings & { readonly name: string },
): Promise<WorkspaceRow | undefined> {
  return runInTransaction(database, async (transaction) => {
    const row = await transaction
      .insertInto("workspaces")
      .values({ name, ...columnsOf(settings) })
      .onConflict((conflict) => conflict.column("name").doNothing())
      .returning(columns)
      .executeTakeFirst();
    if (!row) return undefined;
    const entry = { action: "workspaces.create", target: row.id, after: row };
    await recordAudit(transaction, { ...author, workspaceId: row.id }, entry);
    return row;
  });
}

export type ChangedWorkspace = PolicyChange & { readonly row: WorkspaceRow };

/** Changes a workspace; undefined when another workspace has the new name. */
export function updateWorkspace(
  database: Kysely<Database>,
  author: Author,
  change: WorkspaceSettings,
): Promise<ChangedWorkspace | undefined> {
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    const before = await transaction
      .selectFrom("workspaces")
      .select(columns)
      .where("id", "=", author.workspaceId)
      .where("deleted_at", "is", null)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (!before) throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
    const { name = before.name } = change;
    if (await isTaken(transaction, name, before.id)) return undefined;
    const row = await transaction
      .updateTable("workspaces")
      .set({ name, ...columnsOf(change), ...(countsOthers(before, change) && { tags_counted_from: sql<Date>`now()` }) })
      .where("id", "=", before.id)
      .returning(columns)
      .executeTakeFirstOrThrow();
    const differing = changedFields(before, row);
    if (isSame(differing)) return { row, ...(await recordNoChange(transaction)) };
    const entry = { action: "workspaces.update", target: row.id, ...differing };
    // The amount of a budget is read for each call, so only its presence is part of the cached policy.
    const isOtherPolicy =
      (before.limit_usd === null) !== (row.limit_usd === null) ||
      ["model_limits", "tag_budgets", "permissions", "required_tags"].some((name) =>
        Object.hasOwn(differing.after, name),
      );
    return { row, ...(await recordChange(transaction, author, entry, isOtherPolicy ? null : [])) };
  });
}

/**
 * Deletes a workspace with its guardrails and captured contents, and revokes its keys. Records, sums, end users and the
 * audit log stay. The time of the deletion is appended to the name, so another workspace can have it.
 * @returns undefined for an unknown or already deleted workspace
 */
export function deleteWorkspace(database: Kysely<Database>, author: Author): Promise<PolicyChange | undefined> {
  const { workspaceId } = author;
  return runInTransaction(database, async (transaction) => {
    await lockGeneration(transaction);
    const before = await transaction
      .selectFrom("workspaces")
      .select(columns)
      .where("id", "=", workspaceId)
      .where("deleted_at", "is", null)
      .forUpdate()
      .executeTakeFirst();
    if (!before) return undefined;
    const removed = await removeHoldings(transaction, workspaceId);
    await sql`
      update workspaces set deleted_at = now(),
        name = left(name, 150) || ', deleted ' || to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
      where id = ${workspaceId}`.execute(transaction);
    const entry = { action: "workspaces.delete", target: workspaceId, before: { ...before, ...removed } };
    return recordChange(transaction, author, entry, null);
  });
}

/**
 * Revokes the keys of a workspace, and removes its guardrails and captured contents. External ids stay, and pass to the
 * next record that is put with them.
 * @returns the number of removed records of each kind
 */
async function removeHoldings(transaction: Transaction<Database>, workspaceId: string) {
  await sql`
    delete from guardrail_key_assignments using api_keys
    where hash = key_hash and workspace_id = ${workspaceId}`.execute(transaction);
  const { numUpdatedRows: keys } = await transaction
    .updateTable("api_keys")
    .set({ revoked_at: sql<Date>`now()` })
    .where("workspace_id", "=", workspaceId)
    .where("revoked_at", "is", null)
    .executeTakeFirst();
  for (const table of ["captured_contents", "console_sessions", "alert_rules", "alert_rule_events"] as const) {
    await transaction.deleteFrom(table).where("workspace_id", "=", workspaceId).execute();
  }
  const { numDeletedRows: guardrails } = await transaction
    .deleteFrom("guardrails")
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirst();
  return { keys: Number(keys), guardrails: Number(guardrails) };
}

async function isTaken(database: Kysely<Database>, name: string, id: string): Promise<boolean> {
  const other = database.selectFrom("workspaces").select("id").where("name", "=", name).where("id", "<>", id);
  return (await other.executeTakeFirst()) !== undefined;
}
