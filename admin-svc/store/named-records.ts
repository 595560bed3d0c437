/** Records of a workspace with a name, such as views and alert rules: listed, set and deleted alike. */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import { type Author, actorOf, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { type Page, type PagedRows, readPage } from "./page.ts";
import { runInTransaction } from "./postgres/transaction.ts";
import { findWorkspaceState } from "./workspaces.ts";

export interface NamedKind {
  readonly table: "views" | "alert_rules";
  /** First part of its actions in the audit log. */
  readonly noun: "views" | "alert-rules";
  /** Maximum number in a workspace. */
  readonly max: number;
}

export interface NamedChange {
  /** Values by column. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Further assignments to an existing record. */
  readonly also?: RawBuilder<unknown>;
  /** States in the audit log. */
  readonly states: { readonly before?: object; readonly after: object };
}

export interface PutOutcome<Row> {
  readonly row: Row;
  readonly created: boolean;
  readonly changed: boolean;
}

/**
 * Keeps other changes of named records in the workspace until the commit, so their number stays exact. Called before any of them is locked: the entry in the
 * audit log locks the workspace as well, and two changes would otherwise wait for each other.
 */
export async function lockNamed(transaction: Transaction<Database>, workspaceId: string): Promise<void> {
  await sql`select from workspaces where id = ${workspaceId} for no key update`.execute(transaction);
}

/** The same, but refuses a deleted workspace. @throws Fault NOT_FOUND in a workspace deleted meanwhile */
export async function lockLive(transaction: Transaction<Database>, workspaceId: string): Promise<void> {
  await lockNamed(transaction, workspaceId);
  if ((await findWorkspaceState(transaction, workspaceId))?.isDeleted !== false)
    throw new Fault(FaultReason.NOT_FOUND, "Workspace not found");
}

export async function findNamed<Row>(
  database: Kysely<Database>,
  { table }: NamedKind,
  workspaceId: string,
  name: string,
): Promise<Row | undefined> {
  const { rows } = await sql<Row>`
    select * from ${sql.table(table)} where workspace_id = ${workspaceId} and name = ${name}`.execute(database);
  return rows[0];
}

/** All of a workspace, in the order of the code points of their names. */
export async function listNamed<Row>(
  database: Kysely<Database>,
  { table }: NamedKind,
  workspaceId: string,
): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    select * from ${sql.table(table)} where workspace_id = ${workspaceId} order by name`.execute(database);
  return rows;
}

/** A page in the order of the code points of their names. */
export const pageOfNamed = <Row>(
  database: Kysely<Database>,
  { table, noun }: NamedKind,
  workspaceId: string,
  page: Page,
): Promise<PagedRows<Row>> =>
  readPage(
    database,
    {
      scope: [noun, workspaceId],
      listed: sql`select name from ${sql.table(table)} where workspace_id = ${workspaceId}`,
      order: [[sql`listed.name`, "text"]],
      rows: sql`join ${sql.table(table)} as known on known.workspace_id = ${workspaceId} and known.name = page.name`,
      columns: sql`known.*`,
    },
    page,
  );

/**
 * Makes a record, or changes the one with its name.
 * @param change compares it with the record of before; undefined leaves it as it is
 * @returns `full` when the workspace has the maximum number
 * @throws Fault NOT_FOUND in a workspace deleted meanwhile
 */
export function putNamed<Row>(
  database: Kysely<Database>,
  author: Author,
  {
    kind,
    name,
    change,
  }: {
    readonly kind: NamedKind;
    readonly name: string;
    readonly change: (before: Row | undefined) => NamedChange | undefined;
  },
): Promise<PutOutcome<Row> | "full"> {
  const { workspaceId } = author;
  const table = sql.table(kind.table);
  return runInTransaction(database, async (transaction) => {
    await lockLive(transaction, workspaceId);
    const before = await findNamed<Row>(transaction, kind, workspaceId, name);
    const changed = change(before);
    if (before && !changed) return { row: before, created: false, changed: false };
    if (!changed) throw new Error("a record without values");
    const own = sql`workspace_id = ${workspaceId}`;
    if (!before) {
      const { rows } = await sql<{ count: number }>`select count(*)::int as count from ${table} where ${own}`.execute(
        transaction,
      );
      if ((rows[0]?.count ?? 0) >= kind.max) return "full";
    }
    const values = Object.entries(changed.values);
    const { rows } = await (before
      ? sql<Row>`
          update ${table} set ${sql.join(values.map(([column, value]) => sql`${sql.id(column)} = ${value}`))}, updated_at = now()
            ${changed.also ? sql`, ${changed.also}` : sql``}
          where ${own} and name = ${name} returning *`
      : sql<Row>`
          insert into ${table} (workspace_id, name, created_by, ${sql.join(values.map(([column]) => sql.id(column)))})
          values (${workspaceId}, ${name}, ${actorOf(author)}, ${sql.join(values.map(([, value]) => sql`${value}`))}) returning *`
    ).execute(transaction);
    const [row] = rows;
    if (!row) throw new Error("a change without a row");
    await recordAudit(transaction, author, { action: `${kind.noun}.put`, target: name, ...changed.states });
    return { row, created: !before, changed: true };
  });
}

/** @param also runs with the deletion, before its entry in the audit log @returns whether the record existed */
export function deleteNamed<Row>(
  database: Kysely<Database>,
  author: Author,
  {
    kind,
    name,
    state,
    also,
  }: {
    readonly kind: NamedKind;
    readonly name: string;
    /** The state before, in the audit log. */
    readonly state: (row: Row) => object;
    readonly also?: (transaction: Transaction<Database>, row: Row) => Promise<void>;
  },
): Promise<boolean> {
  return runInTransaction(database, async (transaction) => {
    await lockNamed(transaction, author.workspaceId);
    const { rows } = await sql<Row>`
      delete from ${sql.table(kind.table)} where workspace_id = ${author.workspaceId} and name = ${name}
      returning *`.execute(transaction);
    const [row] = rows;
    if (!row) return false;
    await also?.(transaction, row);
    await recordAudit(transaction, author, { action: `${kind.noun}.delete`, target: name, before: state(row) });
    return true;
  });
}
