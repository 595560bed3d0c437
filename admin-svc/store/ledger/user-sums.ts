/**
 * Adds ledger rows to the sums of end users, by hour and by day, some time after all other sums: most end users have
 * few turns, so updates with each batch would write nearly as many rows as there are turns. `ledger_progress` knows the
 * numbers of the waiting rows. Only the holder of the lock of the sums writes.
 */
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { isOfStatement } from "../postgres/failure.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { beginCube } from "./cube.ts";
import { inNumbers, isBesideEarlier, lockSums, tryLockSums } from "./sums-progress.ts";
import { addSums, sumHours } from "./usage-rollup.ts";
import { userHours } from "./user-rows.ts";

/** Maximum rows of a portion: half a second of a busy server, well below the statement timeout. */
export const rowsOfPortion = 20_000;
/** Minimum rows of a portion. After a failure, portions are halved down to it. */
export const leastRows = 1_000;
/** Number of failed portions at which to give up: the cause is then hardly in the turns themselves. */
const maxFailed = 10;
/** Number of waiting rows up to which nothing is added during the day; reports read these rows themselves. */
const waitingRows = 20_000;

/** A range of row numbers (`written`). */
export interface UserPortion {
  readonly since: string;
  /** End of the range, not included. */
  readonly until: string;
}

export interface UsersQuery {
  /** Portions to skip. */
  readonly without?: readonly UserPortion[];
  /** Maximum number of rows of a portion; exceeded only if one transaction has stored more. */
  readonly maxRows?: number;
  /**
   * Number of waiting turns up to which nothing is added. Rows of an ended day are added anyway, and so are all rows
   * while an admin-svc of an earlier build may be running.
   */
  readonly maxWaiting?: number;
  /** Whether to wait for the lock that another process holds. */
  readonly waits?: boolean;
}

/**
 * Outcome of a step: `some` or `last` when a portion was added, `none` when there was none to add, `locked` when
 * another process holds the lock.
 */
export type UsersStep = "some" | "last" | "none" | "locked";

/** Error of a portion that could not be added. */
export class UnsummedUsers extends Error {
  readonly portion: UserPortion;

  constructor(portion: UserPortion, cause: unknown) {
    super(`the sums of end users cannot take turns ${portion.since} to ${portion.until}`, { cause });
    this.portion = portion;
  }
}

/**
 * Adds a portion, unless another process holds the lock and the query does not wait for it.
 * @throws UnsummedUsers when the portion could not be added; other portions may still succeed
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
 * Adds all portions, waiting for other processes. After a failure, portions are halved.
 * @returns errors of portions that failed at the minimum size of 1,000 turns; after ten of them, later turns are left
 * waiting
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

/**
 * Adds the next portion. The caller must hold the lock of the sums. @param onChosen called before the portion's rows
 * are read, and again before it is added
 */
async function addUsers(
  transaction: Transaction<Database>,
  query: UsersQuery,
  onChosen: (portion: UserPortion) => void,
): Promise<UsersStep> {
  // A new partition may still have the statistics of an empty one, with which Postgres would choose a sequential scan.
  await sql`set local enable_seqscan = off`.execute(transaction);
  await beginCube(transaction);
  const portion = await nextPortion(transaction, query, onChosen);
  if (portion === undefined) return "none";
  await addPortion(transaction, portion);
  return portion.isLast ? "last" : "some";
}

interface WaitingPortion extends UserPortion {
  /** SQL condition on the rows of the portion. */
  readonly where: RawBuilder<unknown>;
  readonly isLast: boolean;
}

/** The first range of numbers of waiting rows. */
interface WaitingRange extends UserPortion {
  readonly is_last: boolean;
  /** A time before which no waiting row began. */
  readonly from: string;
  /** Whether a day has ended since rows began to wait, or an admin-svc of an earlier build needs them in the sums. */
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
  // The time is a constant, so Postgres can skip the partitions of earlier days.
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

/** The end of a portion containing only whole transactions; undefined when it contains all waiting rows. */
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
