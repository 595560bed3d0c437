/** Registered end users. Processes with `end_users` in their configuration file refuse requests of inactive end users. */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import { type Author, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { endUsersName } from "@sluice/proto/lib/policy/end-users-name.js";
import { type Page, type PagedRows, readPage } from "./page.ts";
import { type PolicyChange, recordChange } from "./policy.ts";
import { runInTransaction } from "./postgres/transaction.ts";

export interface EndUserRow {
  readonly user: string;
  readonly is_active: boolean;
  /** Time of creation in microseconds since 1970: a Date would lose the digits that distinguish two quick updates. */
  readonly created_at_us: string;
  readonly updated_at_us: string;
}

export type ChangedEndUser = PolicyChange & { readonly row: EndUserRow };

const microseconds = (column: "created_at" | "updated_at"): RawBuilder<string> =>
  sql<string>`(extract(epoch from ${sql.ref(column)}) * 1000000)::bigint`;

const columns = [
  "user",
  "is_active",
  microseconds("created_at").as("created_at_us"),
  microseconds("updated_at").as("updated_at_us"),
] as const;

/** Registers an end user; undefined when the workspace has the end user already. */
export function createEndUser(
  database: Kysely<Database>,
  author: Author,
  user: string,
): Promise<EndUserRow | undefined> {
  return runInTransaction(database, async (transaction) => {
    const row = await transaction
      .insertInto("end_users")
      .values({ workspace_id: author.workspaceId, user })
      .onConflict((conflict) => conflict.columns(["workspace_id", "user"]).doNothing())
      .returning(columns)
      .executeTakeFirst();
    if (row) await recordAudit(transaction, author, { action: "end-users.create", target: user, after: stateOf(row) });
    return row;
  });
}

/**
 * Activates or deactivates an end user. Each write gets a later time than the preceding one, even when nothing changes
 * or the clock was set back.
 */
export function updateEndUser(
  database: Kysely<Database>,
  author: Author,
  user: string,
  isActive: boolean,
): Promise<ChangedEndUser | undefined> {
  return runInTransaction(database, async (transaction) => {
    const before = await one(transaction, author.workspaceId, user).select("is_active").forUpdate().executeTakeFirst();
    if (!before) return undefined;
    const row = await transaction
      .updateTable("end_users")
      .set({
        is_active: isActive,
        updated_at: sql<Date>`greatest(clock_timestamp(), updated_at + interval '1 microsecond')`,
      })
      .where("workspace_id", "=", author.workspaceId)
      .where("user", "=", user)
      .returning(columns)
      .executeTakeFirstOrThrow();
    const entry = { action: "end-users.update", target: user, before, after: stateOf(row) };
    const changed = before.is_active === isActive ? [] : await concerned(transaction, author.workspaceId, user);
    return { row, ...(await recordChange(transaction, author, entry, changed)) };
  });
}

/**
 * Names of the policies that an end user affects: the list of inactive end users of the workspace, and the keys linked
 * to this end user.
 */
async function concerned(transaction: Transaction<Database>, workspaceId: string, user: string): Promise<string[]> {
  const keys = await transaction
    .selectFrom("api_keys")
    .select("hash")
    .where("workspace_id", "=", workspaceId)
    .where("external_user", "=", user)
    .where("revoked_at", "is", null)
    .execute();
  return [endUsersName(workspaceId), ...keys.map(({ hash }) => hash)];
}

const stateOf = ({ is_active: isActive }: EndUserRow) => ({ is_active: isActive });

const one = (database: Kysely<Database>, workspaceId: string, user: string) =>
  database.selectFrom("end_users").where("workspace_id", "=", workspaceId).where("user", "=", user);

export function listEndUsers(database: Kysely<Database>, workspaceId: string): Promise<EndUserRow[]> {
  return database
    .selectFrom("end_users")
    .select(columns)
    .where("workspace_id", "=", workspaceId)
    .orderBy("user")
    .execute();
}

export interface EndUserFilter {
  readonly workspaceId: string;
  /** Name of the only end user to list. */
  readonly user?: string | undefined;
  readonly includeInactive: boolean;
}

/** Lists a page of end users, in the order of the code points of their names. */
export const pageOfEndUsers = (
  database: Kysely<Database>,
  { workspaceId, user, includeInactive }: EndUserFilter,
  page: Page,
): Promise<PagedRows<EndUserRow>> =>
  readPage(
    database,
    {
      scope: ["end users", workspaceId, user ?? null, includeInactive],
      listed: sql`
        select "user" from end_users
        where workspace_id = ${workspaceId} and ${user === undefined ? sql`true` : sql`"user" = ${user}`}
          and ${includeInactive ? sql`true` : sql`is_active`}`,
      order: [[sql`listed."user"`, "text"]],
      rows: sql`join end_users as known on known.workspace_id = ${workspaceId} and known."user" = page."user"`,
      columns: sql`
        known."user", is_active, ${microseconds("created_at")} as created_at_us, ${microseconds("updated_at")} as updated_at_us`,
    },
    page,
  );

export function findEndUser(
  database: Kysely<Database>,
  workspaceId: string,
  user: string,
): Promise<EndUserRow | undefined> {
  return one(database, workspaceId, user).select(columns).executeTakeFirst();
}

/** A page of inactive end users, with the policy generation at which it was read. */
export interface InactiveEndUsers {
  readonly users: readonly string[];
  readonly generation: bigint;
}

/**
 * Lists at most `limit` inactive end users after `after`, in byte order. A single statement reads names and generation,
 * so they belong together.
 */
export async function inactiveEndUsers(
  database: Kysely<Database>,
  { workspaceId, after, limit }: { readonly workspaceId: string; readonly after: string; readonly limit: number },
): Promise<InactiveEndUsers> {
  const { rows } = await sql<{ generation: string; users: string[] }>`
    select generation, array(
      select "user" from end_users
      where workspace_id = ${workspaceId} and not is_active and "user" collate "C" > ${after}
      order by "user" collate "C" limit ${limit}
    ) as users
    from policy_generation`.execute(database);
  const [row] = rows;
  if (row === undefined) throw new Error("policy_generation has no row");
  return { users: row.users, generation: BigInt(row.generation) };
}
