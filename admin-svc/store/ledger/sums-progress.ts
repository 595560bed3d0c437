/** The lock of the sums, and SQL for how far the sums include the ledger. */
import { type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";

/** Number of the advisory lock without which no process writes sums. It is arbitrary, but the same in all builds. */
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

/**
 * SQL condition: whether an admin-svc of an earlier build has updated the sums in the last ten minutes, so its
 * reports may still be in use.
 */
export const isBesideEarlier = sql`coalesce(earlier_at > now() - interval '10 minutes', false)`;

/** SQL condition on rows of the ledger, or of a view that includes it, that the sums lack. */
export const isUnfolded = sql`written >= (select folded from ledger_progress)`;

/** SQL condition on rows of the ledger whose `written` is in the range `numbers`, in a form using the index. */
export const inNumbers = sql`written >= lower(numbers) and written < coalesce(upper(numbers), 9223372036854775807)`;

/**
 * SQL that replaces the ledger by its rows that the sums of end users lack. Each range of numbers is read separately,
 * because after a failed portion many later rows may already be in the sums. The `offset 0` keeps Postgres from reading
 * the whole ledger first, which it would do because it expects many ranges.
 */
export const unsummedRows = sql`(
  select waiting.* from ledger_progress cross join unnest(unsummed_users + int8multirange(int8range(folded, null))) as numbers cross join lateral (
    select * from ledger where ${inNumbers} and opened_at >= users_from_day::timestamp at time zone 'UTC' offset 0
  ) as waiting
) as ledger`;

/** SQL condition on rows that all sums include except those of end users. */
export const isOnlyUnsummed = sql`written >= (select lower(unsummed_users) from ledger_progress) and (select unsummed_users from ledger_progress) @> written`;
