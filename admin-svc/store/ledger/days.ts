/** Days of the ledger: each has a partition, made in advance and removed whole. */
import { type Kysely, sql } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../database.ts";
import { isLockRefused } from "../postgres/failure.ts";

/** Makes the missing partitions, from yesterday to three days ahead. Turns of other days are stored outside of the ledger. */
export async function openDays(database: Kysely<Database>): Promise<void> {
  await sql`select open_ledger_days()`.execute(database);
}

export interface RemovedDay {
  readonly calls: number;
  readonly turns: number;
}

/** Readers and writers of the ledger wait for a removal at most this long; then it pauses and tries again. */
const lockTimeoutMs = 500;
const pauseMs = 500;

/**
 * Removes the earliest day before a time, and gives its space back. Needs the owner of the schema.
 * @returns undefined when there is none
 */
export async function removeDay(database: Kysely<Database>, before: Date): Promise<RemovedDay | undefined> {
  const { rows } = await sql<{ day: string }>`
    select day::text as day from ledger_days where (day + 1)::timestamp at time zone 'UTC' <= ${before} order by day limit 1`.execute(
    database,
  );
  const [next] = rows;
  if (next === undefined) return undefined;
  for (;;) {
    try {
      return await dropDay(database, next.day);
    } catch (error) {
      if (!isLockRefused(error)) throw error;
      await delay(pauseMs);
    }
  }
}

/** The number of removed records of each process start stays. */
function dropDay(database: Kysely<Database>, day: string): Promise<RemovedDay> {
  return database.transaction().execute(async (transaction) => {
    await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(transaction);
    const partition = sql.id(`ledger_${day.replaceAll("-", "")}`);
    const { rows } = await sql<RemovedDay>`
      with kept as (select * from ${partition} where not is_moved),
      boots as (
        select named.identifier as boot_id, count(*) as records
        from kept join ledger_names as named on named.id = boot where calls is null group by 1
        union all
        select (call ->> 'boot_id')::uuid, count(*) from kept cross join jsonb_array_elements(calls) as call group by 1
      ),
      noted as (
        insert into removed_records (boot_id, records) select boot_id, sum(records) from boots group by 1 order by 1
        on conflict (boot_id) do update set records = removed_records.records + excluded.records
      )
      select (select coalesce(sum(records), 0)::float8 from boots) as calls, (select count(*)::float8 from kept) as turns`.execute(
      transaction,
    );
    await sql`drop table ${partition}`.execute(transaction);
    await sql`delete from ledger_days where day = ${day}::date`.execute(transaction);
    return rows[0] ?? { calls: 0, turns: 0 };
  });
}
