/**
 * Fills the cube of usage. A period is in the cube as a whole: every row of the ledger that began in it and is in the sums. The worker adds closed hours, the
 * latest first, and makes days from their hours; rows that arrive later are added as the sums take them. Only the holder of the lock of the sums writes.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { cubeColumns, daysOfRows, nameCalls, rowsOfHours } from "./cube-rows.ts";
import { tryLockSums } from "./sums-progress.ts";

/** Rows of a day by hour are kept up to this number, or up to this share of its turns: reading more of them would take as long as reading the ledger. */
const keptHourRows = 5_000;
const keptShare = 1 / 3;

export type CubeStep = "closed" | "none" | "locked";

/** Lets the transaction move the cursor of the sums, and opens all periods with records when another build has moved it. */
export async function beginCube(transaction: Transaction<Database>): Promise<void> {
  const { rows } = await sql<{ cubed: boolean }>`${preparedAs("begin_cube")}
    select set_config('sluice.fills_cube', 'on', true), is_cubed as cubed from ledger_progress`.execute(transaction);
  if (rows[0]?.cubed !== false) return;
  await sql`
    delete from usage_cube_periods where period >= (select kept_from from ledger_retention)::timestamp at time zone 'UTC'`.execute(
    transaction,
  );
  await sql`update ledger_progress set is_cubed = true`.execute(transaction);
}

/** Adds rows of periods that are in the cube. @param span a condition on rows of the ledger */
export async function addLate(transaction: Transaction<Database>, span: RawBuilder<unknown>): Promise<void> {
  const late = sql`${span} and not is_moved and opened_at < (
    select max(period) + interval '1 hour' from usage_cube_periods where not is_day
  )`;
  const { rows } = await sql`${preparedAs("find_late")} select from ledger where ${late} limit 1`.execute(transaction);
  if (rows.length === 0) return;
  await nameCalls(transaction, late);
  const inCube = (isDay: boolean) => sql`(select period from usage_cube_periods where is_day = ${isDay} and is_stored)`;
  await sql`
    with hours as materialized (${rowsOfHours(late)})
    insert into usage_cube (is_day, ${cubeColumns})
    select false, ${cubeColumns} from hours where period in ${inCube(false)}
    union all
    select true, ${cubeColumns} from (${daysOfRows(sql`hours`)}) as days where period in ${inCube(true)}`.execute(
    transaction,
  );
}

interface Period {
  readonly is_day: boolean;
  /** As a text, with all digits of Postgres. */
  readonly period: string;
}

/** Adds one period to the cube, unless another process is at it. @param before periods end at this time at the latest */
export function closeNext(database: Kysely<Database>, before: Date): Promise<CubeStep> {
  return runInTransaction(database, async (transaction) => {
    if (!(await tryLockSums(transaction))) return "locked";
    // Statistics of a new partition may be those of an empty one.
    await sql`set local enable_seqscan = off`.execute(transaction);
    await beginCube(transaction);
    const next = await nextPeriod(transaction, before);
    if (next === undefined) return "none";
    const period = sql`${next.period}::timestamptz`;
    // Rows of before the period was opened again.
    await sql`delete from usage_cube where is_day = ${next.is_day} and period = ${period}`.execute(transaction);
    await (next.is_day ? closeDay : closeHour)(transaction, period);
    return "closed";
  });
}

async function nextPeriod(transaction: Transaction<Database>, before: Date): Promise<Period | undefined> {
  const { rows } = await sql<Period>`
    with known as (select * from usage_cube_periods),
    days as (
      select true as is_day, date_bin('1 day', period, 'epoch') as period from known where not is_day and is_stored
      group by 2 having count(*) = 24
    ),
    hours as (
      select false, hour from ledger_retention cross join generate_series(
        greatest(kept_from, (select min(day) from ledger_days))::timestamp at time zone 'UTC', ${before}::timestamptz - interval '1 hour', interval '1 hour'
      ) as hour
    )
    select is_day, period::text from (
      select * from (select * from days union all select * from hours) as candidates
      where not exists (select from known where known.is_day = candidates.is_day and known.period = candidates.period)
    ) as missing order by is_day desc, missing.period desc limit 1`.execute(transaction);
  return rows[0];
}

const note = (transaction: Transaction<Database>, isDay: boolean, period: RawBuilder<unknown>) =>
  sql`insert into usage_cube_periods (is_day, period, is_stored) values (${isDay}, ${period}, true)`.execute(
    transaction,
  );

async function closeHour(transaction: Transaction<Database>, hour: RawBuilder<unknown>): Promise<void> {
  const { rows } = await sql<{ folded: string; workspaces: readonly number[] }>`
    select folded::text, array(select named.id from workspaces join ledger_names as named on named.name = workspaces.id::text) as workspaces
    from ledger_progress`.execute(transaction);
  const [{ folded, workspaces } = { folded: "0", workspaces: [] }] = rows;
  // The index by time begins with the workspace.
  const where = sql`workspace = any(${workspaces}::integer[]) and opened_at >= ${hour} and opened_at < ${hour} + interval '1 hour'
    and not is_moved and written < ${folded}::bigint`;
  await nameCalls(transaction, where);
  await sql`
    insert into usage_cube (is_day, ${cubeColumns})
    select false, ${cubeColumns} from (${rowsOfHours(where)}) as rows order by workspace`.execute(transaction);
  await note(transaction, false, hour);
}

async function closeDay(transaction: Transaction<Database>, day: RawBuilder<unknown>): Promise<void> {
  const ofHours = sql`not is_day and period >= ${day} and period < ${day} + interval '1 day'`;
  await sql`
    insert into usage_cube (is_day, ${cubeColumns})
    select true, ${cubeColumns} from (${daysOfRows(sql`(select * from usage_cube where ${ofHours})`)}) as rows order by workspace`.execute(
    transaction,
  );
  await note(transaction, true, day);
  const { rows } = await sql<{ is_large: boolean }>`
    select count(*) > greatest(${keptHourRows}::float8, ${keptShare}::float8 * sum(requests)) as is_large from usage_cube where ${ofHours}`.execute(
    transaction,
  );
  if (rows[0]?.is_large !== true) return;
  await sql`delete from usage_cube where ${ofHours}`.execute(transaction);
  await sql`update usage_cube_periods set is_stored = false where ${ofHours}`.execute(transaction);
}
