/**
 * Adds the changes of batches to the sums by hour and day, and to those of activity. Changes are removed in the transaction that adds them, so each counts
 * once, whenever its batch was committed and whichever process dies meanwhile.
 */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { foldActivity } from "./activity.ts";
import { addSums, changeSums } from "./usage-rollup.ts";

/** Lock number shared by all builds; any number would do. Only its holder writes sums. */
const sumsLock = 7_340_155_302n;

/** Maximum number of changes per transaction, which keeps it well below the time limit of a statement. */
const maxChanges = 20_000;

export type FoldOutcome = "all" | "some" | "locked";

/** Adds changes to the sums, unless another process is doing so. */
export function tryFold(database: Kysely<Database>): Promise<FoldOutcome> {
  return runInTransaction(database, async (transaction) => {
    const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${sumsLock}) as locked`.execute(
      transaction,
    );
    if (rows[0]?.locked !== true) return "locked";
    return (await fold(transaction)) < maxChanges ? "all" : "some";
  });
}

/** Adds every change to the sums, and blocks other changes until the end of the transaction. */
export async function foldAll(transaction: Transaction<Database>): Promise<void> {
  await lockSums(transaction);
  while ((await fold(transaction)) === maxChanges);
}

/** Prevents batches from being stored until the end of the transaction. Sums are locked first, in the same order as by the code that adds changes to them. */
export async function lockUsageChanges(transaction: Transaction<Database>): Promise<void> {
  await lockSums(transaction);
  await sql`lock table usage_changes in exclusive mode`.execute(transaction);
}

async function lockSums(transaction: Transaction<Database>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sumsLock})`.execute(transaction);
}

async function fold(transaction: Transaction<Database>): Promise<number> {
  const { rows } = await sql<{ taken: number }>`
    with taken as (
      delete from usage_changes where ctid = any (array(select ctid from usage_changes limit ${maxChanges})) returning *
    ),
    added as (${addSums(changeSums(sql`taken`))})
    select count(*)::int as taken from taken`.execute(transaction);
  return Math.max(rows[0]?.taken ?? 0, await foldActivity(transaction, maxChanges));
}

/** Whether there is something to add; cheaper than trying. */
export async function hasChanges(database: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`
    (select from usage_changes limit 1) union all (select from activity_changes limit 1)`.execute(database);
  return rows.length > 0;
}
