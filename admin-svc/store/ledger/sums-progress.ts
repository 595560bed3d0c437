/** The lock of the sums, and how far they include the ledger. */
import { type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";

/** Lock number shared by all builds; any number would do. Only its holder writes sums. */
const sumsLock = 7_340_155_302n;

export async function lockSums(transaction: Transaction<Database>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sumsLock})`.execute(transaction);
}

/** @returns false when another process holds the lock */
export async function tryLockSums(transaction: Transaction<Database>): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${sumsLock}) as locked`.execute(
    transaction,
  );
  return rows[0]?.locked === true;
}

/** Whether an earlier build has moved the cursor this recently: its reports are served as well. */
export const isBesideEarlier = sql`coalesce(earlier_at > now() - interval '10 minutes', false)`;

/** Whether a row of the ledger, or of a view that includes it, is not in the sums yet. */
export const isUnfolded = sql`written >= (select folded from ledger_progress)`;

/** Condition on rows of the ledger whose numbers are in the range `numbers`, for the index. */
export const inNumbers = sql`written >= lower(numbers) and written < coalesce(upper(numbers), 9223372036854775807)`;

/**
 * In place of the ledger, its rows that the sums of end users lack: of before the cursor as well. Each range of numbers is read by itself, since many later rows may be
 * in the sums when a portion has failed. The offset keeps Postgres, which expects many ranges, from reading the whole ledger before it looks at them.
 */
export const unsummedRows = sql`(
  select waiting.* from ledger_progress cross join unnest(unsummed_users + int8multirange(int8range(folded, null))) as numbers cross join lateral (
    select * from ledger where ${inNumbers} and opened_at >= users_from_day::timestamp at time zone 'UTC' offset 0
  ) as waiting
) as ledger`;

/** Whether the other sums have a row that those of end users lack. */
export const isOnlyUnsummed = sql`written >= (select lower(unsummed_users) from ledger_progress) and (select unsummed_users from ledger_progress) @> written`;
