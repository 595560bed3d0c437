/**
 * Adds an hour or a day to the usage cube in parts. Each part has a limited number of rows and its own short
 * transaction, under the lock of the sums, and begins where the previous part ended. An hour is filled in order of
 * time, then merged; a day is filled from its hours in order of keys, and then the rows of its hours may be removed.
 */
import { type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { cubeColumns, daysOfRows, mergedRows, nameCalls, rowsOfHours } from "./cube-rows.ts";

/**
 * Number of hourly rows of a day, and share of its turns, beyond which the hourly rows are removed: to read more rows
 * would take as long as reading the ledger.
 */
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

/** One step of filling a period. */
interface Part {
  readonly transaction: Transaction<Database>;
  readonly period: CubePeriod;
  readonly maxRows: number;
  readonly progress: Progress;
}

/**
 * Adds the next part. The caller must hold the lock of the sums. @param maxRows maximum number of rows to read,
 * exceeded only if more rows have the same time or key
 */
export async function addPart(transaction: Transaction<Database>, period: CubePeriod, maxRows: number): Promise<void> {
  const progress = (await progressOf(transaction, period)) ?? (await begin(transaction, period, maxRows));
  // Undefined means that old rows must be removed first, or that the period was removed from the cube meanwhile.
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

/**
 * Begins to fill a period: removes rows from before it was reopened. @returns undefined when there may be more rows to
 * remove
 */
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

/**
 * The number up to which the sums include rows of the ledger, and the numbers of all workspaces, with which the indexes
 * begin.
 */
async function ledgerOf(transaction: Transaction<Database>): Promise<Ledger> {
  const { rows } = await sql<Ledger>`
    select folded::text, array(select named.id from workspaces join ledger_names as named on named.name = workspaces.id::text) as workspaces
    from ledger_progress`.execute(transaction);
  return rows[0] ?? { folded: "0", workspaces: [] };
}

/**
 * Finds the end of a range that has at most the maximum number of rows, by halving the range, so each step reads a
 * limited number of rows.
 */
async function findEnd(from: number, end: number, hasMore: (to: number) => Promise<boolean>): Promise<number> {
  let to = end;
  while (to - from > 1 && (await hasMore(to))) to = from + Math.floor((to - from) / 2);
  return to;
}

async function hasMoreRows({ transaction, maxRows }: Part, from: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql`select ${from} offset ${maxRows} limit 1`.execute(transaction);
  return rows.length > 0;
}

/**
 * Adds rows of the ledger to an hour. Rows that the sums lack are added later, together with the sums, if the hour is
 * filled up to their time by then.
 */
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
  // Only one part filled the hour, so no combination of dimensions has several rows to merge.
  const isMerged = from.getTime() === period.start.getTime();
  await sql`
    update usage_cube_periods
    set is_stored = ${isFilled}, filled_to = ${isFilled ? null : new Date(to)}, next_key = ${isFilled && !isMerged ? 0 : null}
    where ${isPeriod(period)}`.execute(transaction);
}

interface KeyRange {
  readonly where: RawBuilder<unknown>;
  /** Number of the first key after the range; null at the end. */
  readonly next: number | null;
}

/** Selects the next rows of the given hours, in order of keys from the given key on. */
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

/**
 * Merges rows of an hour that have the same dimensions. The sums stay the same, so reports may read the hour meanwhile.
 */
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

/** Removes rows of the hours of a day; reports then read the day's rows only. */
async function removeHours({ transaction, period, maxRows }: Part): Promise<void> {
  if ((await removeRows(transaction, false, ofHours(period), maxRows)) === maxRows) return;
  await sql`update usage_cube_periods set next_key = null where ${isPeriod(period)}`.execute(transaction);
}
