/** Workspaces: each has its own keys, guardrails, end users and audit log, and learns nothing about another's. */
import { type Kysely, type Selectable, sql } from "kysely";
import { type Author, difference, recordAudit } from "./audit.ts";
import type { Database, WorkspacesTable } from "./database.ts";
import { transact } from "./transaction.ts";

export type WorkspaceRow = Pick<Selectable<WorkspacesTable>, "id" | "name" | "created_at">;

const columns = ["id", "name", "created_at"] as const;

/** By its id or name. */
export function findWorkspace(database: Kysely<Database>, idOrName: string): Promise<WorkspaceRow | undefined> {
  return database
    .selectFrom("workspaces")
    .select(columns)
    .where((where) => where.or([where(sql<string>`id::text`, "=", idOrName), where("name", "=", idOrName)]))
    .orderBy(sql`id::text = ${idOrName}`, "desc")
    .executeTakeFirst();
}

/** The default one first. */
export function listWorkspaces(database: Kysely<Database>): Promise<WorkspaceRow[]> {
  return database.selectFrom("workspaces").select(columns).orderBy("created_at").orderBy("id").execute();
}

/** Undefined when there is one of this name. It is the first entry of its own audit log. */
export function createWorkspace(
  database: Kysely<Database>,
  author: Omit<Author, "workspaceId">,
  name: string,
): Promise<WorkspaceRow | undefined> {
  return transact(database, async (transaction) => {
    const row = await transaction
      .insertInto("workspaces")
      .values({ name })
      .onConflict((conflict) => conflict.column("name").doNothing())
      .returning(columns)
      .executeTakeFirst();
    if (!row) return undefined;
    const entry = { action: "workspaces.create", target: row.id, after: { name } };
    await recordAudit(transaction, { ...author, workspaceId: row.id }, entry);
    return row;
  });
}

/** What of a workspace can be changed; what is absent stays as it is. */
export interface WorkspaceChange {
  readonly name?: string;
}

/** Undefined when another workspace has this name. */
export function updateWorkspace(
  database: Kysely<Database>,
  author: Author,
  change: WorkspaceChange,
): Promise<WorkspaceRow | undefined> {
  return transact(database, async (transaction) => {
    const own = transaction.selectFrom("workspaces").where("id", "=", author.workspaceId);
    const before = await own.select(columns).forNoKeyUpdate().executeTakeFirstOrThrow();
    if (change.name !== undefined && (await isTaken(transaction, change.name, before.id))) return undefined;
    const row = await transaction
      .updateTable("workspaces")
      .set(change)
      .where("id", "=", before.id)
      .returning(columns)
      .executeTakeFirstOrThrow();
    const entry = { action: "workspaces.update", target: row.id, ...difference(before, row) };
    await recordAudit(transaction, author, entry);
    return row;
  });
}

async function isTaken(database: Kysely<Database>, name: string, id: string): Promise<boolean> {
  const other = database.selectFrom("workspaces").select("id").where("name", "=", name).where("id", "<>", id);
  return (await other.executeTakeFirst()) !== undefined;
}
