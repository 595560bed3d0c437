/** Stores saved views of the console's explorer. */
import { maxViews } from "@sluice/proto/contract/records/views.js";
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { canonicalQuery } from "../rules/views.ts";
import { type Author, actorOf, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { type Page, type PagedRows, readPage } from "./page.ts";
import { runInTransaction } from "./postgres/transaction.ts";
import type { ViewsTable } from "./tables/console.ts";

export type ViewRow = Selectable<ViewsTable>;

export interface NewView {
  readonly name: string;
  readonly query: string;
}

export interface PutView {
  readonly row: ViewRow;
  readonly created: boolean;
  readonly changed: boolean;
}

/**
 * Creates a view, or changes the query of the view with its name. @returns `full` when the workspace has the maximum
 * number of views
 */
export function putView(database: Kysely<Database>, author: Author, given: NewView): Promise<PutView | "full"> {
  const { workspaceId } = author;
  const query = canonicalQuery(given.query);
  return runInTransaction(database, async (transaction) => {
    await lockWorkspace(transaction, workspaceId);
    const before = await one(transaction, workspaceId, given.name).selectAll().executeTakeFirst();
    if (before?.query === query) return { row: before, created: false, changed: false };
    if (!before && (await countOf(transaction, workspaceId)) >= maxViews) return "full";
    const row = await transaction
      .insertInto("views")
      .values({ workspace_id: workspaceId, name: given.name, query, created_by: actorOf(author) })
      .onConflict((conflict) =>
        conflict.columns(["workspace_id", "name"]).doUpdateSet({ query, updated_at: sql<Date>`now()` }),
      )
      .returningAll()
      .executeTakeFirstOrThrow();
    const states = { ...(before && { before: { query: before.query } }), after: { query } };
    await recordAudit(transaction, author, { action: "views.put", target: given.name, ...states });
    return { row, created: !before, changed: true };
  });
}

/** Deletes a view. @returns whether it existed */
export function deleteView(database: Kysely<Database>, author: Author, name: string): Promise<boolean> {
  return runInTransaction(database, async (transaction) => {
    const before = await transaction
      .deleteFrom("views")
      .where("workspace_id", "=", author.workspaceId)
      .where("name", "=", name)
      .returning("query")
      .executeTakeFirst();
    if (!before) return false;
    await recordAudit(transaction, author, { action: "views.delete", target: name, before });
    return true;
  });
}

export const listViews = (database: Kysely<Database>, workspaceId: string): Promise<ViewRow[]> =>
  database.selectFrom("views").selectAll().where("workspace_id", "=", workspaceId).orderBy("name").execute();

/** Lists a page of views, in the order of the code points of their names. */
export const pageOfViews = (database: Kysely<Database>, workspaceId: string, page: Page): Promise<PagedRows<ViewRow>> =>
  readPage(
    database,
    {
      scope: ["views", workspaceId],
      listed: sql`select name from views where workspace_id = ${workspaceId}`,
      order: [[sql`listed.name`, "text"]],
      rows: sql`join views as known on known.workspace_id = ${workspaceId} and known.name = page.name`,
      columns: sql`known.*`,
    },
    page,
  );

const one = (database: Kysely<Database>, workspaceId: string, name: string) =>
  database.selectFrom("views").where("workspace_id", "=", workspaceId).where("name", "=", name);

/**
 * Locks the views of a workspace, so changes follow one another and the number of views stays within its limit.
 */
const lockWorkspace = (transaction: Transaction<Database>, workspaceId: string) =>
  sql`select from workspaces where id = ${workspaceId} for no key update`.execute(transaction);

async function countOf(transaction: Transaction<Database>, workspaceId: string): Promise<number> {
  const { count } = await transaction
    .selectFrom("views")
    .select(sql<number>`count(*)::int`.as("count"))
    .where("workspace_id", "=", workspaceId)
    .executeTakeFirstOrThrow();
  return count;
}
