/** Workspaces: each has its own keys, guardrails, end users, budget and audit log, and sees nothing of another's. */
import { type Kysely, type Selectable, sql } from "kysely";
import type { WorkspaceSettings } from "../rules/workspace.ts";
import { type Author, changedFields, isSame, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import type { WorkspacesTable } from "./tables/administration.ts";
import { type Page, type PagedRows, readPage } from "./page.ts";
import { type PolicyChange, lockGeneration, recordChange, recordNoChange } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

const columns = ["id", "name", "limit_usd", "limit_reset", "created_at"] as const;

export type WorkspaceRow = Pick<Selectable<WorkspacesTable>, (typeof columns)[number]>;

/** Finds a workspace by id or name. */
export function findWorkspace(database: Kysely<Database>, idOrName: string): Promise<WorkspaceRow | undefined> {
  return database
    .selectFrom("workspaces")
    .select(columns)
    .where((where) => where.or([where(sql<string>`id::text`, "=", idOrName), where("name", "=", idOrName)]))
    .orderBy(sql`id::text = ${idOrName}`, "desc")
    .executeTakeFirst();
}

/** All workspaces, the default workspace first. */
export function listWorkspaces(database: Kysely<Database>): Promise<WorkspaceRow[]> {
  return database.selectFrom("workspaces").select(columns).orderBy("created_at").orderBy("id").execute();
}

/** A page of workspaces, the default workspace first. @param only id of a single workspace to list; all when undefined */
export const pageOfWorkspaces = (
  database: Kysely<Database>,
  page: Page,
  only?: string,
): Promise<PagedRows<WorkspaceRow>> =>
  readPage(
    database,
    {
      scope: ["workspaces", only ?? null],
      listed: sql`select id, created_at from workspaces where ${only === undefined ? sql`true` : sql`id = ${only}`}`,
      order: [
        [sql`created_at`, "time"],
        [sql`id`, "uuid"],
      ],
      rows: sql`join workspaces on workspaces.id = page.id`,
      columns: sql.join(columns.map((column) => sql`workspaces.${sql.ref(column)}`)),
    },
    page,
  );

const columnsOf = ({ limitUsd, limitReset }: WorkspaceSettings) => ({
  ...(limitUsd !== undefined && { limit_usd: limitUsd }),
  ...(limitReset !== undefined && { limit_reset: limitReset }),
});

/** Undefined when the name is taken. The creation is the first entry of the workspace's own audit log. */
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

/** Undefined when another workspace has this name. */
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
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow();
    const { name = before.name } = change;
    if (await isTaken(transaction, name, before.id)) return undefined;
    const row = await transaction
      .updateTable("workspaces")
      .set({ name, ...columnsOf(change) })
      .where("id", "=", before.id)
      .returning(columns)
      .executeTakeFirstOrThrow();
    const differing = changedFields(before, row);
    if (isSame(differing)) return { row, ...(await recordNoChange(transaction)) };
    const entry = { action: "workspaces.update", target: row.id, ...differing };
    // The size of a budget is read for each call, but every cached key knows only whether there is a budget.
    const isOtherPolicy = (before.limit_usd === null) !== (row.limit_usd === null);
    return { row, ...(await recordChange(transaction, author, entry, isOtherPolicy ? null : [])) };
  });
}

async function isTaken(database: Kysely<Database>, name: string, id: string): Promise<boolean> {
  const other = database.selectFrom("workspaces").select("id").where("name", "=", name).where("id", "<>", id);
  return (await other.executeTakeFirst()) !== undefined;
}
