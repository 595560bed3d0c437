/** Takes the name of an end user out of everything that is kept. Records and sums stay, and so does that there was a change. */
import { type Kysely, sql } from "kysely";
import { type Author, recordAudit } from "./audit.ts";
import type { Database } from "./database.ts";
import { transact } from "./transaction.ts";

/** Where the name stood, and how often. */
export interface Erased {
  readonly records: number;
  readonly keys: number;
  readonly entries: number;
  readonly registered: boolean;
}

/**
 * May be repeated, and carries on where it was cut short: the records go day by day.
 * @param onDay called after each day with what was found until then
 */
export async function eraseEndUser(
  database: Kysely<Database>,
  author: Author,
  user: string,
  onDay: (day: string, records: number) => void,
): Promise<Erased> {
  const { workspaceId } = author;
  let records = 0;
  for (const day of await daysOf(database, workspaceId)) {
    const found = await eraseInRecords(database, workspaceId, user, day);
    records += found;
    if (found > 0) onDay(day, records);
  }
  return transact(database, async (transaction) => {
    const registered = await transaction
      .deleteFrom("end_users")
      .where("workspace_id", "=", workspaceId)
      .where("user", "=", user)
      .executeTakeFirst();
    const keys = await transaction
      .updateTable("api_keys")
      .set({ external_user: null })
      .where("workspace_id", "=", workspaceId)
      .where("external_user", "=", user)
      .executeTakeFirst();
    const entries = await eraseInAudit(transaction, workspaceId, user);
    const erased = {
      records,
      keys: Number(keys.numUpdatedRows),
      entries,
      registered: registered.numDeletedRows > 0n,
    };
    await recordAudit(transaction, author, { action: "end-users.erase", target: "an end user", after: erased });
    return erased;
  });
}

/** In UTC, with records. */
async function daysOf(database: Kysely<Database>, workspaceId: string): Promise<readonly string[]> {
  const { rows } = await sql<{ day: string }>`
    select to_char(day, 'YYYY-MM-DD') as day from generate_series(
      (select min(opened_at) at time zone 'UTC' from usage_records where workspace_id = ${workspaceId})::date,
      (now() at time zone 'UTC')::date + 1,
      '1 day'
    ) as day`.execute(database);
  return rows.map(({ day }) => day);
}

/** The session is theirs, too. */
async function eraseInRecords(
  database: Kysely<Database>,
  workspaceId: string,
  user: string,
  day: string,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update usage_records set "user" = null, session_id = null
    where workspace_id = ${workspaceId} and "user" = ${user}
      and opened_at >= ${day}::timestamp at time zone 'UTC'
      and opened_at < (${day}::timestamp + interval '1 day') at time zone 'UTC'`.execute(database);
  return Number(numAffectedRows);
}

/** Who did what and when stays, and the digest of what is erased: the chain holds. */
async function eraseInAudit(database: Kysely<Database>, workspaceId: string, user: string): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update audit_log set target = null, before = null, after = null, salt = null, erased_at = now()
    where workspace_id = ${workspaceId} and erased_at is null and (
      (action like 'end-users.%' and target = ${user})
      or before ->> 'external_user' = ${user} or after ->> 'external_user' = ${user}
    )`.execute(database);
  return Number(numAffectedRows);
}
