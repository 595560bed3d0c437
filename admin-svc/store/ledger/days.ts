/** The days of the ledger. Each day has a partition, which is created in advance and removed as a whole. */
import { type Kysely, sql } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../database.ts";
import { isLockRefused } from "../postgres/failure.ts";
import { numberOf } from "./names.ts";
import { inNumbers } from "./sums-progress.ts";

/**
 * Creates missing partitions, from yesterday to three days ahead. Turns of days without a partition are stored outside
 * of the ledger.
 */
export async function openDays(database: Kysely<Database>): Promise<void> {
  await sql`select open_ledger_days()`.execute(database);
}

export interface RemovedDay {
  readonly calls: number;
  readonly turns: number;
}

/** An expired day whose rows are still needed, by the sums or by an export. */
export interface HeldDay {
  readonly day: string;
  readonly heldBy: "sums" | "exports";
}

/**
 * Maximum wait in milliseconds of readers and writers for the removal of a day. The removal then pauses and tries
 * again.
 */
const lockTimeoutMs = 500;
const pauseMs = 500;

/** The earliest day of the ledger before a time and after another day; undefined for none. */
export async function earliestDay(
  database: Kysely<Database>,
  before: Date,
  after = "-infinity",
): Promise<string | undefined> {
  const { rows } = await sql<{ day: string }>`
    select day::text as day from ledger_days where (day + 1)::timestamp at time zone 'UTC' <= ${before} and day > ${after}::date order by day limit 1`.execute(
    database,
  );
  return rows[0]?.day;
}

const partitionOf = (day: string) => sql.id(`ledger_${day.replaceAll("-", "")}`);

/**
 * Finds the reader that still needs rows of a day: the sums or an export.
 * @param exports names of the configured exports; removed exports do not count
 * @returns undefined when no reader needs them
 */
export async function holderOf(
  database: Kysely<Database>,
  day: string,
  exports: readonly string[],
): Promise<HeldDay["heldBy"] | undefined> {
  const partition = partitionOf(day);
  const { rows } = await sql<{ sums: boolean; exports: boolean }>`
    select
      exists (
        select from ledger_progress cross join lateral (select from ${partition} where written >= folded order by written limit 1) as row
        where ${day}::date >= from_day
      ) or exists (
        select from ledger_progress cross join unnest(unsummed_users) as numbers cross join lateral (
          select from ${partition} where ${inNumbers} order by written limit 1
        ) as row
        where ${day}::date >= users_from_day
      ) as sums,
      exists (
        select from export_positions as waiting cross join lateral (
          select from ${partition}
          where workspace = ${numberOf(sql`waiting.workspace_id`)} and not is_moved and log_sequence > waiting.delivered
          order by log_sequence limit 1
        ) as row
        where export = any(${exports}::text[])
      ) as exports`.execute(database);
  if (rows[0]?.sums === true) return "sums";
  return rows[0]?.exports === true ? "exports" : undefined;
}

/** Removes a day and frees its disk space. Requires the owner of the schema. */
export async function removeDay(database: Kysely<Database>, day: string): Promise<RemovedDay> {
  for (;;) {
    try {
      return await dropDay(database, day);
    } catch (error) {
      if (!isLockRefused(error)) throw error;
      await delay(pauseMs);
    }
  }
}

/** Drops the partition, and records how many records of each process start are removed with it. */
function dropDay(database: Kysely<Database>, day: string): Promise<RemovedDay> {
  return database.transaction().execute(async (transaction) => {
    await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(transaction);
    const partition = partitionOf(day);
    const { rows } = await sql<RemovedDay>`
      with single as (
        select boot, count(*) as turns, count(*) filter (where calls is null) as records from ${partition} where not is_moved group by 1
      ),
      boots as (
        select named.identifier as boot_id, records from single join ledger_names as named on named.id = boot where records > 0
        union all
        select (call ->> 'boot_id')::uuid, count(*) from ${partition} cross join jsonb_array_elements(calls) as call
        where calls is not null and not is_moved group by 1
      ),
      noted as (
        insert into removed_records (boot_id, records) select boot_id, sum(records) from boots group by 1 order by 1
        on conflict (boot_id) do update set records = removed_records.records + excluded.records
      )
      select (select coalesce(sum(records), 0)::float8 from boots) as calls, (select coalesce(sum(turns), 0)::float8 from single) as turns`.execute(
      transaction,
    );
    await sql`drop table ${partition}`.execute(transaction);
    await sql`delete from ledger_days where day = ${day}::date`.execute(transaction);
    return rows[0] ?? { calls: 0, turns: 0 };
  });
}
