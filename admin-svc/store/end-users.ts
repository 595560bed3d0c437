/** Registered end users. Registration is a record; it never decides whether inference is allowed. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Author, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { type Page, type Paged, readTogether } from "./page.ts";
import { transact } from "./transaction.ts";

export interface EndUserRow {
  readonly user: string;
  readonly is_active: boolean;
  /** Epoch microseconds: a Date would lose the digits in which two quick updates differ. */
  readonly created_at_us: string;
  readonly updated_at_us: string;
}

const microseconds = (column: "created_at" | "updated_at"): RawBuilder<string> =>
  sql<string>`(extract(epoch from ${sql.ref(column)}) * 1000000)::bigint`;

const columns = [
  "user",
  "is_active",
  microseconds("created_at").as("created_at_us"),
  microseconds("updated_at").as("updated_at_us"),
] as const;

/** Undefined when the workspace has registered this end user before. */
export function createEndUser(
  database: Kysely<Database>,
  author: Author,
  user: string,
): Promise<EndUserRow | undefined> {
  return transact(database, async (transaction) => {
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

/** Each write is later than the one before, also when nothing changes and when the clock stepped back. */
export function updateEndUser(
  database: Kysely<Database>,
  author: Author,
  user: string,
  isActive: boolean,
): Promise<EndUserRow | undefined> {
  return transact(database, async (transaction) => {
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
    await recordAudit(transaction, author, { action: "end-users.update", target: user, before, after: stateOf(row) });
    return row;
  });
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
  /** Only this one. */
  readonly user?: string | undefined;
  readonly includeInactive: boolean;
}

/** In the order of their code points. */
export function pageOfEndUsers(
  database: Kysely<Database>,
  { workspaceId, user, includeInactive }: EndUserFilter,
  page: Page,
): Promise<Paged<EndUserRow>> {
  return readTogether(database, async (snapshot) => {
    const endUsers = snapshot
      .selectFrom("end_users")
      .where("workspace_id", "=", workspaceId)
      .$if(user !== undefined, (all) => all.where("user", "=", user as string))
      .$if(!includeInactive, (all) => all.where("is_active", "=", true));
    const { total } = await endUsers
      .select((select) => select.cast<number>(select.fn.countAll(), "integer").as("total"))
      .executeTakeFirstOrThrow();
    const rows = await endUsers.select(columns).orderBy("user").offset(page.offset).limit(page.limit).execute();
    return { rows, total };
  });
}

export function findEndUser(
  database: Kysely<Database>,
  workspaceId: string,
  user: string,
): Promise<EndUserRow | undefined> {
  return one(database, workspaceId, user).select(columns).executeTakeFirst();
}
