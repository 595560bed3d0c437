/**
 * Adds rows of the ledger to the sums of end users, by hour and by day, some time after all other sums: most end users have few turns, so that adding each batch would
 * write nearly as many rows as there are turns. `ledger_progress` knows the numbers of the rows that wait. Only the holder of the lock of the sums writes.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { isOfStatement } from "../postgres/failure.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { beginCube } from "./cube.ts";
import { inNumbers, isBesideEarlier, lockSums, tryLockSums } from "./sums-progress.ts";
import { addSums, sumHours } from "./usage-rollup.ts";
import { userHours } from "./user-rows.ts";

/** Rows of a portion: half a second of a busy server, well below the limit of a statement. */
export const rowsOfPortion = 20_000;
/** After a failure, portions have half as many rows, down to this number. */
export const leastRows = 1_000;
/** When so many of the smallest portions have failed, it is hardly for the turns in them. */
const maxFailed = 10;
/** So many turns of a day are left to reports. */
const waitingRows = 20_000;

/** Numbers of rows. */
export interface UserPortion {
  readonly since: string;
  /** Not included. */
  readonly until: string;
}

export interface UsersQuery {
  /** Portions to leave out. */
  readonly without?: readonly UserPortion[];
  /** Maximum number of rows of a portion, unless one transaction has stored more. */
  readonly maxRows?: number;
  /** No more turns than these wait, none for longer than to the end of the day, and none beside an earlier build. */
  readonly maxWaiting?: number;
  /** Waits for another process at it. */
  readonly waits?: boolean;
}

/** Whether a portion was added, and whether it was the last one at that moment. */
export type UsersStep = "some" | "last" | "none" | "locked";

/** A portion that could not be added. */
export class UnsummedUsers extends Error {
  readonly portion: UserPortion;

  constructor(portion: UserPortion, cause: unknown) {
    super(`the sums of end users cannot take turns ${portion.since} to ${portion.until}`, { cause });
    this.portion = portion;
  }
}

/**
 * Adds a portion, unless another process is at it and the query does not wait for it.
 * @throws UnsummedUsers when the portion that was next has failed, while others may not
 */
export async function sumUsers(database: Kysely<Database>, query: UsersQuery = {}): Promise<UsersStep> {
  let chosen: UserPortion | undefined;
  try {
    return await runInTransaction(database, async (transaction) => {
      chosen = undefined;
      if (query.waits === true) await lockSums(transaction);
      else if (!(await tryLockSums(transaction))) return "locked";
      return await addUsers(transaction, query, (portion) => (chosen = portion));
    });
  } catch (error) {
    throw chosen !== undefined && isOfStatement(error) ? new UnsummedUsers(chosen, error) : error;
  }
}

/**
 * Adds all portions, once no other process is at it. A portion that fails is halved first.
 * @returns portions that have failed, of about 1,000 turns; after ten of them, later turns wait
 */
export async function sumAllUsers(database: Kysely<Database>): Promise<readonly UnsummedUsers[]> {
  const failed: UnsummedUsers[] = [];
  let maxRows = rowsOfPortion;
  while (failed.length < maxFailed) {
    try {
      const without = failed.map(({ portion }) => portion);
      const step = await sumUsers(database, { without, maxRows, maxWaiting: 0, waits: true });
      if (step !== "some") break;
      maxRows = Math.min(2 * maxRows, rowsOfPortion);
    } catch (error) {
      if (!(error instanceof UnsummedUsers)) throw error;
      if (maxRows <= leastRows) failed.push(error);
      maxRows = Math.max(Math.floor(maxRows / 2), leastRows);
    }
  }
  return failed;
}

/** Adds the next portion. The caller holds the lock of the sums. @param onChosen called before its rows are read, and once more before it is added */
async function addUsers(
  transaction: Transaction<Database>,
  query: UsersQuery,
  onChosen: (portion: UserPortion) => void,
): Promise<UsersStep> {
  // Statistics of a new partition may be those of an empty one.
  await sql`set local enable_seqscan = off`.execute(transaction);
  await beginCube(transaction);
  const portion = await nextPortion(transaction, query, onChosen);
  if (portion === undefined) return "none";
  await addPortion(transaction, portion);
  return portion.isLast ? "last" : "some";
}

interface WaitingPortion extends UserPortion {
  /** Condition on its rows. */
  readonly where: RawBuilder<unknown>;
  readonly isLast: boolean;
}

/** The first range of numbers of waiting rows. */
interface WaitingRange extends UserPortion {
  readonly is_last: boolean;
  /** A time: no waiting row began before it. */
  readonly from: string;
  /** Whether a day has ended since rows began to wait, or reports of an earlier build lack them. */
  readonly is_due: boolean;
}

async function nextPortion(
  transaction: Transaction<Database>,
  { without = [], maxRows = rowsOfPortion, maxWaiting = waitingRows }: UsersQuery,
  onChosen: (portion: UserPortion) => void,
): Promise<WaitingPortion | undefined> {
  const failed = sql`${`{${without.map(({ since, until }) => `[${since},${until})`).join(",")}}`}::int8multirange`;
  const ranges = sql`ledger_progress cross join unnest(unsummed_users - ${failed}) as numbers`;
  const { rows } = await sql<WaitingRange>`
    select lower(numbers)::text as since, upper(numbers)::text as until, count(*) over () = 1 as is_last,
      (users_from_day::timestamp at time zone 'UTC')::text as from,
      users_from_day < (now() at time zone 'UTC')::date - 2 or ${isBesideEarlier} as is_due
    from ${ranges} order by numbers limit 1`.execute(transaction);
  const [range] = rows;
  if (range === undefined) return undefined;
  const { since, until, from } = range;
  onChosen({ since, until });
  // A constant lets Postgres leave out the partitions of earlier days.
  const isLater = sql`opened_at >= ${from}::timestamptz`;
  if (!range.is_due && maxWaiting > 0) {
    const { rows: more } = await sql`
      select from ${ranges} cross join lateral (
        select from ledger where ${inNumbers} and ${isLater} order by written limit ${maxWaiting} + 1
      ) as row offset ${maxWaiting} limit 1`.execute(transaction);
    if (more.length === 0) return undefined;
  }
  const before = (end: string) => sql`written >= ${since}::bigint and written < ${end}::bigint and ${isLater}`;
  const end = (await endOfPortion(transaction, before(until), maxRows)) ?? until;
  onChosen({ since, until: end });
  return { since, until: end, where: before(end), isLast: range.is_last && end === until };
}

/** The end of a portion with whole transactions; undefined when it has all rows. */
async function endOfPortion(
  transaction: Transaction<Database>,
  waiting: RawBuilder<unknown>,
  maxRows: number,
): Promise<string | undefined> {
  const { rows } = await sql<{ until: string }>`
    select (case when max(written) > min(written) then max(written) else max(written) + 1 end)::text as until
    from (select written from ledger where ${waiting} order by written limit ${maxRows} + 1) as first
    having count(*) > ${maxRows}`.execute(transaction);
  return rows[0]?.until;
}

async function addPortion(transaction: Transaction<Database>, { since, until, where }: WaitingPortion): Promise<void> {
  await addSums(sumHours(userHours(where))).execute(transaction);
  const rest = sql`unsummed_users - int8multirange(int8range(${since}::bigint, ${until}::bigint))`;
  await sql`
    update ledger_progress set unsummed_users = ${rest},
      users_from_day = case when isempty(${rest}) then from_day else users_from_day end`.execute(transaction);
}
