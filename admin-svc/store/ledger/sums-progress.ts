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

/** Whether a row of the ledger, or of a view that includes it, is not in the sums yet. */
export const isUnfolded = sql`written >= (select folded from ledger_progress)`;
