/** Stores saved views of the console's explorer. */
import { maxViews } from "@sluice/proto/contract/records/views.js";
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import { isOfUser } from "../rules/named-user.ts";
import { canonicalQuery } from "../rules/views.ts";
import type { Author } from "./audit.ts";
import type { Database } from "./database.ts";
import { type NamedKind, type PutOutcome, deleteNamed, listNamed, pageOfNamed, putNamed } from "./named-records.ts";
import type { Page, PagedRows } from "./page.ts";
import type { ViewsTable } from "./tables/console.ts";

export type ViewRow = Selectable<ViewsTable>;

export interface NewView {
  readonly name: string;
  readonly query: string;
}

const kind: NamedKind = { table: "views", noun: "views", max: maxViews };

const state = ({ query }: Pick<ViewRow, "query">) => ({ query });

/** Creates a view, or changes the query of the view with its name. @returns `full` when the workspace has the maximum number of views */
export const putView = (
  database: Kysely<Database>,
  author: Author,
  given: NewView,
): Promise<PutOutcome<ViewRow> | "full"> => {
  const query = canonicalQuery(given.query);
  return putNamed<ViewRow>(database, author, {
    kind,
    name: given.name,
    change: (before) =>
      before?.query === query
        ? undefined
        : { values: { query }, states: { ...(before && { before: state(before) }), after: { query } } },
  });
};

/** Deletes a view. @returns whether the view existed */
export const deleteView = (database: Kysely<Database>, author: Author, name: string): Promise<boolean> =>
  deleteNamed<ViewRow>(database, author, { kind, name, state });

export const listViews = (database: Kysely<Database>, workspaceId: string): Promise<readonly ViewRow[]> =>
  listNamed(database, kind, workspaceId);

export const pageOfViews = (database: Kysely<Database>, workspaceId: string, page: Page): Promise<PagedRows<ViewRow>> =>
  pageOfNamed(database, kind, workspaceId, page);

/** Deletes views with an end user in their query or as their name. @returns their number */
export async function deleteViewsOfUser(
  transaction: Transaction<Database>,
  workspaceId: string,
  user: string,
): Promise<number> {
  const names = (await listViews(transaction, workspaceId))
    .filter((row) => isOfUser({ name: row.name, states: [row] }, user))
    .map(({ name }) => name);
  await sql`delete from views where workspace_id = ${workspaceId} and name = any(${names})`.execute(transaction);
  return names.length;
}
