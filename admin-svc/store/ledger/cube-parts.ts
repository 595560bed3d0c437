/**
 * Parts of hours and days on their way into the cube. Each part has a bounded number of rows and its own short transaction with the lock of the sums, and begins
 * where the one before ended. An hour is filled by time, and then merged; a day is filled by key, and then its hours may lose their rows.
 */
import { type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { cubeColumns, daysOfRows, mergedRows, nameCalls, rowsOfHours } from "./cube-rows.ts";

/** Rows of a day by hour are kept up to this number, or up to this share of its turns: reading more of them would take as long as reading the ledger. */
const keptHourRows = 5_000;
const keptShare = 1 / 3;

const hourMs = 3_600_000;

export interface CubePeriod {
  readonly isDay: boolean;
  readonly start: Date;
}

interface Progress {
  readonly is_stored: boolean;
  readonly filled_to: Date | null;
  readonly next_key: number | null;
}

/** Rows and numbers of a period. */
interface Part {
  readonly transaction: Transaction<Database>;
  readonly period: CubePeriod;
  readonly maxRows: number;
  readonly progress: Progress;
}

/** The caller holds the lock of the sums. @param maxRows maximum number of rows to read, unless more have one time or key */
export async function addPart(transaction: Transaction<Database>, period: CubePeriod, maxRows: number): Promise<void> {
  const progress = (await progressOf(transaction, period)) ?? (await begin(transaction, period, maxRows));
  // Old rows are left, or the period has left the cube meanwhile.
  if (progress === undefined) return;
  const part = { transaction, period, maxRows, progress };
  if (progress.filled_to !== null) await fillHour(part, progress.filled_to);
  else if (progress.next_key === null) return;
  else if (!progress.is_stored) await fillDay(part, progress.next_key);
  else await (period.isDay ? removeHours(part) : mergeHour(part, progress.next_key));
}

const isPeriod = ({ isDay, start }: CubePeriod) => sql`is_day = ${sql.lit(isDay)} and period = ${start}`;
const ofHours = ({ start }: CubePeriod) =>
  sql`is_day = false and period >= ${start} and period < ${new Date(start.getTime() + 24 * hourMs)}`;

async function progressOf(transaction: Transaction<Database>, period: CubePeriod): Promise<Progress | undefined> {
  const { rows } = await sql<Progress>`
    select is_stored, filled_to, next_key from usage_cube_periods where ${isPeriod(period)} for update`.execute(
    transaction,
  );
  return rows[0];
}

/** Removes rows of before the period was opened again. @returns undefined when some may be left */
async function begin(
  transaction: Transaction<Database>,
  period: CubePeriod,
  maxRows: number,
): Promise<Progress | undefined> {
  const { isDay, start } = period;
  if ((await removeRows(transaction, isDay, isPeriod(period), maxRows)) === maxRows) return undefined;
  const progress = { is_stored: false, filled_to: isDay ? null : start, next_key: isDay ? 0 : null };
  await sql`
    insert into usage_cube_periods (is_day, period, is_stored, filled_to, next_key)
    values (${isDay}, ${start}, false, ${progress.filled_to}, ${progress.next_key})`.execute(transaction);
  return progress;
}

/** @returns the number of removed rows */
async function removeRows(
  transaction: Transaction<Database>,
  isDay: boolean,
  where: RawBuilder<unknown>,
  maxRows: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from usage_cube where is_day = ${sql.lit(isDay)} and ctid = any(array(
      select ctid from usage_cube where ${where} limit ${maxRows}
    ))`.execute(transaction);
  return Number(numAffectedRows);
}

interface Ledger {
  readonly folded: string;
  readonly workspaces: readonly number[];
}

/** How far the sums include the ledger, and the numbers of workspaces, with which indexes begin. */
async function ledgerOf(transaction: Transaction<Database>): Promise<Ledger> {
  const { rows } = await sql<Ledger>`
    select folded::text, array(select named.id from workspaces join ledger_names as named on named.name = workspaces.id::text) as workspaces
    from ledger_progress`.execute(transaction);
  return rows[0] ?? { folded: "0", workspaces: [] };
}

/** The end of a range of numbers with at most so many rows, found by halving it, so that each step reads a bounded number of them. */
async function findEnd(from: number, end: number, hasMore: (to: number) => Promise<boolean>): Promise<number> {
  let to = end;
  while (to - from > 1 && (await hasMore(to))) to = from + Math.floor((to - from) / 2);
  return to;
}

async function hasMoreRows({ transaction, maxRows }: Part, from: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`select ${from} offset ${maxRows} limit 1`.execute(transaction);
  return rows.length > 0;
}

/** Rows that are not in the sums yet are added with them, as far as the hour is filled by then. */
async function fillHour(part: Part, from: Date): Promise<void> {
  const { transaction, period } = part;
  const { folded, workspaces } = await ledgerOf(transaction);
  const until = (to: number) =>
    sql`workspace = any(${workspaces}::integer[]) and opened_at >= ${from} and opened_at < ${new Date(to)}`;
  const end = period.start.getTime() + hourMs;
  const to = await findEnd(from.getTime(), end, (to) => hasMoreRows(part, sql`from ledger where ${until(to)}`));
  const where = sql`${until(to)} and not is_moved and written < ${folded}::bigint`;
  await nameCalls(transaction, where);
  await sql`
    insert into usage_cube (is_day, ${cubeColumns})
    select false, ${cubeColumns} from (${rowsOfHours(where)}) as rows order by workspace, key`.execute(transaction);
  const isFilled = to === end;
  // Several parts have rows of the same combinations.
  const isMerged = from.getTime() === period.start.getTime();
  await sql`
    update usage_cube_periods
    set is_stored = ${isFilled}, filled_to = ${isFilled ? null : new Date(to)}, next_key = ${isFilled && !isMerged ? 0 : null}
    where ${isPeriod(period)}`.execute(transaction);
}

interface KeyRange {
  readonly where: RawBuilder<unknown>;
  /** Number of the first key behind the range; null at the end. */
  readonly next: number | null;
}

/** Rows of hours of the cube from a key on. */
async function nextKeys(part: Part, hours: RawBuilder<unknown>, from: number): Promise<KeyRange> {
  const { transaction } = part;
  const { workspaces } = await ledgerOf(transaction);
  const { rows } = await sql<{ last: number }>`select max(id) as last from ledger_names`.execute(transaction);
  const end = (rows[0]?.last ?? 0) + 1;
  const until = (to: number) =>
    sql`${hours} and workspace = any(${workspaces}::integer[]) and key >= ${from} and key < ${to}`;
  const to = await findEnd(from, end, (to) => hasMoreRows(part, sql`from usage_cube where ${until(to)}`));
  return { where: until(to), next: to === end ? null : to };
}

/** Reports read the hour meanwhile: its sums stay the same. */
async function mergeHour(part: Part, from: number): Promise<void> {
  const { transaction, period } = part;
  const { where, next } = await nextKeys(part, isPeriod(period), from);
  await sql`
    with taken as (delete from usage_cube where ${where} returning *)
    insert into usage_cube (is_day, ${cubeColumns})
    select false, ${cubeColumns} from (${mergedRows(sql`taken`)}) as rows order by workspace, key`.execute(transaction);
  await sql`update usage_cube_periods set next_key = ${next} where ${isPeriod(period)}`.execute(transaction);
}

async function fillDay(part: Part, from: number): Promise<void> {
  const { transaction, period } = part;
  const { where, next } = await nextKeys(part, ofHours(period), from);
  const { rows } = await sql<{ is_large: boolean }>`
    with hours as materialized (select * from usage_cube where ${where}),
    added as (
      insert into usage_cube (is_day, ${cubeColumns})
      select true, ${cubeColumns} from (${daysOfRows(sql`hours`)}) as rows order by workspace, key
    ),
    counted as (select count(*) as hour_rows, coalesce(sum(requests), 0) as requests from hours)
    update usage_cube_periods as known
    set is_stored = ${next === null}, next_key = ${next}::integer, hour_rows = known.hour_rows + counted.hour_rows,
      requests = known.requests + counted.requests
    from counted where ${isPeriod(period)}
    returning known.hour_rows > greatest(${keptHourRows}::float8, ${keptShare}::float8 * known.requests) as is_large`.execute(
    transaction,
  );
  if (next !== null || rows[0]?.is_large !== true) return;
  await sql`
    update usage_cube_periods set is_stored = false, next_key = null where ${ofHours(period)}`.execute(transaction);
  await sql`update usage_cube_periods set next_key = 0 where ${isPeriod(period)}`.execute(transaction);
}

/** Removes rows of the hours of a day, which only the day keeps. */
async function removeHours({ transaction, period, maxRows }: Part): Promise<void> {
  if ((await removeRows(transaction, false, ofHours(period), maxRows)) === maxRows) return;
  await sql`update usage_cube_periods set next_key = null where ${isPeriod(period)}`.execute(transaction);
}
