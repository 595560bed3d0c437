/**
 * Fills the usage cube with every row of the ledger that the other sums include. A worker adds completed hours, latest
 * first, and builds days from their hours, in parts. Reports read a period being filled from the ledger. Rows
 * that arrive later are added together with the other sums. Only the holder of the lock of the sums writes the cube.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { isOfStatement } from "../postgres/failure.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type CubePeriod, addPart } from "./cube-parts.ts";
import { cubeColumns, daysOfRows, nameCalls, rowsOfHours } from "./cube-rows.ts";
import { tryLockSums } from "./sums-progress.ts";

/**
 * Maximum number of rows of a part: half a second of a busy server, well below the timeout of a statement and of waits
 * for the lock of the sums.
 */
const rowsOfPart = 10_000;

export type CubeStep = "some" | "none" | "locked";

export interface CubeQuery {
  /** Time by which a period must have ended to be added. */
  readonly before: Date;
  /** Periods to skip. */
  readonly without?: readonly CubePeriod[];
  /** Maximum number of rows of the ledger or the cube that a part reads. */
  readonly maxRows?: number;
}

/** Error of a period whose next part could not be added. */
export class UnfilledPeriod extends Error {
  readonly period: CubePeriod;

  constructor(period: CubePeriod, cause: unknown) {
    super(`the cube cannot be filled with the ${period.isDay ? "day" : "hour"} ${period.start.toISOString()}`, {
      cause,
    });
    this.period = period;
  }
}

/**
 * Marks the transaction as one of this build, which fills the cube and postpones sums of end users. If an earlier build
 * has updated the sums since, all periods with records are filled again.
 */
export async function beginCube(transaction: Transaction<Database>): Promise<void> {
  const { rows } = await sql<{ cubed: boolean }>`${preparedAs("begin_cube")}
    select set_config('sluice.fills_cube', 'on', true), set_config('sluice.leaves_users', 'on', true), is_cubed as cubed from ledger_progress`.execute(
    transaction,
  );
  if (rows[0]?.cubed !== false) return;
  await sql`
    delete from usage_cube_periods where period >= (select kept_from from ledger_retention)::timestamp at time zone 'UTC'`.execute(
    transaction,
  );
  await sql`update ledger_progress set is_cubed = true`.execute(transaction);
}

/**
 * Adds late rows to hours and days that the cube has already, as far as these are filled. @param span a condition on
 * rows of the ledger
 */
export async function addLate(transaction: Transaction<Database>, span: RawBuilder<unknown>): Promise<void> {
  const early = sql`${span} and not is_moved and opened_at < (
    select max(period) + interval '1 hour' from usage_cube_periods where not is_day
  )`;
  const { rows } = await sql`${preparedAs("find_late")} select from ledger where ${early} limit 1`.execute(transaction);
  if (rows.length === 0) return;
  // Rows after the time up to which their hour is filled are left out: a later part of the hour takes them.
  const late = sql`${early} and not exists (
    select from usage_cube_periods where not is_day and period = date_bin('1 hour', opened_at, 'epoch') and filled_to <= opened_at
  )`;
  await nameCalls(transaction, late);
  await sql`
    with hours as materialized (${rowsOfHours(late)})
    insert into usage_cube (is_day, ${cubeColumns})
    select false, ${cubeColumns} from hours
    where period in (select period from usage_cube_periods where not is_day and (is_stored or filled_to is not null))
    union all
    select true, ${cubeColumns} from (${daysOfRows(sql`hours`)}) as days where exists (
      select from usage_cube_periods as known where is_day and known.period = days.period and (is_stored or days.key < next_key)
    )`.execute(transaction);
}

/**
 * Adds the next part of a period to the cube, unless another process holds the lock.
 * @throws UnfilledPeriod when the part could not be added; other periods may still succeed
 */
export async function closeNext(database: Kysely<Database>, query: CubeQuery): Promise<CubeStep> {
  let chosen: CubePeriod | undefined;
  try {
    return await runInTransaction(database, async (transaction) => {
      chosen = undefined;
      if (!(await tryLockSums(transaction))) return "locked";
      // A new partition may still have the statistics of an empty one, with which Postgres would choose a sequential
      // scan.
      await sql`set local enable_seqscan = off`.execute(transaction);
      await beginCube(transaction);
      chosen = await nextPeriod(transaction, query);
      if (chosen === undefined) return "none";
      await addPart(transaction, chosen, query.maxRows ?? rowsOfPart);
      return "some";
    });
  } catch (error) {
    throw chosen !== undefined && isOfStatement(error) ? new UnfilledPeriod(chosen, error) : error;
  }
}

async function nextPeriod(
  transaction: Transaction<Database>,
  { before, without = [] }: CubeQuery,
): Promise<CubePeriod | undefined> {
  const { rows } = await sql<CubePeriod>`
    with known as (select * from usage_cube_periods),
    days as (
      select true as is_day, date_bin('1 day', period, 'epoch') as period from known where not is_day and is_stored
      group by 2 having count(*) = 24
    ),
    hours as (
      select false, hour from ledger_retention cross join generate_series(
        greatest(kept_from, (select min(day) from ledger_days))::timestamp at time zone 'UTC', ${before}::timestamptz - interval '1 hour', interval '1 hour'
      ) as hour
    ),
    missing as (
      select * from (select * from days union all select * from hours) as candidates
      where not exists (
        select from known where known.is_day = candidates.is_day and known.period = candidates.period and filled_to is null
      )
      union all
      select is_day, period from known where next_key is not null
    )
    select is_day as "isDay", period as start from missing
    where not exists (
      select from unnest(${without.map(({ isDay }) => isDay)}::boolean[], ${without.map(({ start }) => start)}::timestamptz[]) as failed (is_day, period)
      where failed.is_day = missing.is_day and failed.period = missing.period
    )
    order by is_day desc, period desc limit 1`.execute(transaction);
  return rows[0];
}
