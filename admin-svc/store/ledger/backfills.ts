/** Converts records stored before a migration, in portions, while the service runs. */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { missedActivity } from "./activity.ts";
import type { BackfillName } from "./progress.ts";
import { addCallsWithoutTurns } from "./usage.ts";

const ended = async (database: Kysely<Database>, name: BackfillName): Promise<void> => {
  await database.deleteFrom("backfills").where("name", "=", name).execute();
};

/** Processes one portion. @returns the progress for the log; undefined when nothing is left */
export type BackfillStep = (database: Kysely<Database>) => Promise<string | undefined>;

/** Assigns calls that were stored before turns existed to their turns, and sets their purpose, which activity needs. */
const fillTurns: BackfillStep = async (database) => {
  const added = await addCallsWithoutTurns(database);
  if (added > 0) return `${added} calls`;
  await ended(database, "turns");
  return undefined;
};

/** Adds the records of one hour to activity, latest hour first, back to the first reported day. */
const fillActivity: BackfillStep = (database) =>
  runInTransaction(database, async (transaction) => {
    const { rows } = await sql<{ from: string; to: string; is_last: boolean }>`
      select hour::text as from, reached::text as to, reached < now() - interval '32 days' as is_last
      from (select reached from backfills where name = 'activity' for update) as work
        cross join lateral (
          select date_trunc('hour', least(now(), reached - interval '1 hour'), 'UTC') as hour
        ) as hours`.execute(transaction);
    const [work] = rows;
    if (!work || work.is_last) {
      await ended(transaction, "activity");
      return undefined;
    }
    const { from, to } = work;
    await sql`
      insert into activity_changes
      ${missedActivity(sql`opened_at >= ${from}::timestamptz and opened_at < ${to}::timestamptz`)}`.execute(
      transaction,
    );
    await sql`update backfills set reached = ${from}::timestamptz where name = 'activity'`.execute(transaction);
    return from;
  });

/** Maximum number of keys in a portion. */
const keysOfPortion = 500;

/**
 * Adds totals for keys without one; existing rows stay unchanged, because the trigger of records creates the total of a
 * key used meanwhile.
 */
const fillTotals: BackfillStep = async (database) => {
  const { numAffectedRows = 0n } = await sql`
    insert into key_totals
    select hash, workspace_id, (select coalesce(sum(cost_usd), 0) from key_days where key_hash = hash),
      (select max(opened_at) from usage_records where key_hash = hash)
    from api_keys where not exists (select from key_totals where key_hash = hash) order by hash limit ${keysOfPortion}
    on conflict (key_hash) do nothing`.execute(database);
  if (numAffectedRows > 0n) return `${numAffectedRows} keys`;
  await ended(database, "key_totals");
  return undefined;
};

/** All backfills in their order; a backfill may depend on the earlier ones. */
export const backfills: Readonly<Record<BackfillName, BackfillStep>> = {
  turns: fillTurns,
  key_totals: fillTotals,
  activity: fillActivity,
};

export async function pendingBackfills(database: Kysely<Database>): Promise<readonly BackfillName[]> {
  const rows = await database.selectFrom("backfills").select("name").execute();
  const pending = new Set(rows.map(({ name }) => name));
  return (Object.keys(backfills) as BackfillName[]).filter((name) => pending.has(name));
}
