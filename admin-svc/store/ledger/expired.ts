/**
 * Removes old rows outside of the ledger in portions. Each portion is a short transaction, and continues where the
 * previous one ended.
 */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { dimensions } from "./usage-rollup.ts";

/** Maximum number of rows in a portion. */
const portion = 10_000;

/** Removes the next portion. @returns the number of removed rows; 0 at the end */
export type Removal = () => Promise<number>;

interface OldRows {
  readonly table: "usage_records" | "turns";
  readonly old: RawBuilder<unknown>;
  /** Further SQL after the removal, with a comma at the beginning; it may read the removed rows as `removed`. */
  readonly also: RawBuilder<unknown>;
}

/** Removes old rows page by page, from the first page with an old row to the last: the table has no index by time. */
function removalOf(database: Kysely<Database>, { table, old, also }: OldRows): Removal {
  const name = sql.table(table);
  let pages: { first: string; last: string } | undefined;
  return async () => {
    pages ??= await pagesOf(database, name, old);
    if (pages === undefined) return 0;
    const { rows } = await sql<{ removed: number; reached: string | null }>`
      with found as materialized (
        select ctid from ${name} where ctid >= ${pages.first}::tid and ctid <= ${pages.last}::tid and ${old} limit ${portion}
      ),
      removed as (delete from ${name} where ctid = any(array(select ctid from found)) returning *)
      ${also}
      select (select count(*)::int from removed) as removed, (select max(ctid)::text from found) as reached`.execute(
      database,
    );
    pages = { first: rows[0]?.reached ?? pages.last, last: pages.last };
    return rows[0]?.removed ?? 0;
  };
}

async function pagesOf(database: Kysely<Database>, name: RawBuilder<unknown>, old: RawBuilder<unknown>) {
  const { rows } = await sql<{ first: string | null; last: string | null }>`
    select min(ctid)::text as first, max(ctid)::text as last from ${name} where ${old}`.execute(database);
  const { first = null, last = null } = rows[0] ?? {};
  return first === null || last === null ? undefined : { first, last };
}

/**
 * Removal of calls outside of the ledger: from before it existed, or of turns that arrived in parts. Sums stay, and the
 * number of removed records of each process start is recorded.
 */
export const removalOfCalls = (database: Kysely<Database>, before: Date): Removal =>
  removalOf(database, {
    table: "usage_records",
    old: sql`opened_at < ${before}`,
    also: sql`, noted as (
      insert into removed_records (boot_id, records) select boot_id, count(*) from removed group by 1 order by 1
      on conflict (boot_id) do update set records = removed_records.records + excluded.records
    )`,
  });

/**
 * Removal of turns outside of the ledger. @param exports names of exports; turns that these have not delivered yet are
 * kept
 */
export const removalOfTurns = (database: Kysely<Database>, before: Date, exports: readonly string[] = []): Removal =>
  removalOf(database, {
    table: "turns",
    old: sql`opened_at < ${before} and not exists (
      select from export_positions as waiting
      where export = any(${exports}::text[]) and waiting.workspace_id = turns.workspace_id
        and (log_sequence > delivered or (log_sequence is null and opened_at >= started_at))
    )`,
    also: sql``,
  });

/**
 * Removal of sums. For each workspace and dimension, an index finds the oldest sums. Periods removed from the cube are
 * then read from the ledger, as far as it has them.
 */
export function removalOfSums(database: Kysely<Database>, before: Date): Removal {
  return async () => {
    await sql`
      update usage_cube_periods set is_stored = false, filled_to = null, next_key = null
      where period < ${before} and (is_stored or filled_to is not null or next_key is not null)`.execute(database);
    let removed = 0;
    for (const cube of ["usage_cube_hours", "usage_cube_days"]) {
      const { numAffectedRows = 0n } = await sql`
        delete from ${sql.table(cube)} where ctid = any(array(
          select ctid from ${sql.table(cube)} where period < ${before} limit ${portion}
        ))`.execute(database);
      removed += Number(numAffectedRows);
    }
    for (const step of ["hour", "day"] as const) {
      const name = sql.table(`usage_sums_${step}`);
      const { numAffectedRows = 0n } = await sql`
        delete from ${name} where ctid = any(array(
          select old.ctid
          from workspaces cross join unnest(${["all", "turns", ...dimensions]}::text[]) as by cross join lateral (
            select ctid from ${name}
            where workspace_id = workspaces.id and dimension = by and step = ${step} and at < ${before} limit ${portion}
          ) as old
          limit ${portion}
        ))`.execute(database);
      removed += Number(numAffectedRows);
    }
    return removed;
  };
}
