/**
 * Adds changes from stored batches to the sums by hour and day and to activity. The transaction that adds a change also
 * removes it, so it counts exactly once, even when processes die.
 */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { addLate, beginCube } from "./cube.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { foldActivity } from "./activity.ts";
import { doubledTurns, hasUnfolded, inSpan, nextSpan, passSpan, shiftAfterRestore } from "./ledger-sums.ts";
import { ledgerActivity, ledgerHours } from "./row-sums.ts";
import { lockSums, tryLockSums } from "./sums-progress.ts";
import { addSums, dimensions, hourSums, sumHours } from "./usage-rollup.ts";
import { type UnsummedUsers, sumAllUsers } from "./user-sums.ts";
import { storeApart } from "./usage.ts";

/** Maximum number of changes per transaction, which keeps its duration well below the statement timeout. */
const maxChanges = 20_000;

/**
 * Dimensions whose sums are updated here. Sums of end users are updated later, because most end users have few turns.
 */
const ofRows = dimensions.filter((dimension) => dimension !== "user");

/** Maximum number of ledger rows per transaction; only a single batch with more rows exceeds it. */
const maxRows = 10_000;

export type FoldOutcome = "all" | "some" | "locked";

/**
 * Adds pending changes to the sums, unless another process holds the lock.
 * @param onBeside called when an admin-svc of an earlier build may still be running: its reports expect sums of end
 * users to be as complete as all others
 */
export function tryFold(database: Kysely<Database>, onBeside: () => void = () => {}): Promise<FoldOutcome> {
  return runInTransaction(database, async (transaction) => {
    if (!(await tryLockSums(transaction))) return "locked";
    return (await fold(transaction, onBeside)) ? "some" : "all";
  });
}

/** Adds all pending changes to the sums, and blocks new changes until the end of the transaction. */
export async function foldAll(transaction: Transaction<Database>): Promise<void> {
  await lockSums(transaction);
  while (await fold(transaction));
}

/**
 * Adds all rows of the ledger to all sums, in several transactions; batches still being stored are left out.
 * @returns errors for rows that could not be added to the sums of end users
 */
export async function sumAll(database: Kysely<Database>): Promise<readonly UnsummedUsers[]> {
  const step = () =>
    runInTransaction(database, async (transaction) => {
      await lockSums(transaction);
      return await fold(transaction);
    });
  while (await step());
  return await sumAllUsers(database);
}

/**
 * Prevents batches from being stored until the end of the transaction. The lock of the sums is taken first, in the same
 * order as when changes are added.
 */
export async function lockUsageChanges(transaction: Transaction<Database>): Promise<void> {
  await lockSums(transaction);
  await sql`lock table usage_changes, ledger in exclusive mode`.execute(transaction);
}

/** Adds one portion of changes. @returns whether more changes can be added at once */
async function fold(transaction: Transaction<Database>, onBeside: () => void = () => {}): Promise<boolean> {
  // A prepared plan made for a small partition would use a sequential scan even after the partition has grown.
  await sql`set local enable_seqscan = off`.execute(transaction);
  await beginCube(transaction);
  await shiftAfterRestore(transaction);
  const span = await nextSpan(transaction, maxRows);
  const doubled = await doubledTurns(transaction, span);
  if (doubled.length > 0) await storeApart(transaction, doubled);
  const rows = { written: inSpan(span) };
  const {
    rows: [folded],
  } = await sql<{ taken: number }>`${preparedAs("fold_sums")}
    with taken as (
      delete from usage_changes where ctid = any (array(select ctid from usage_changes limit ${maxChanges})) returning *
    ),
    added as (${addSums(sumHours(sql`${hourSums(sql`taken`, dimensions)} union all ${ledgerHours(rows, ofRows)}`))})
    select count(*)::int as taken from taken`.execute(transaction);
  const activity = await foldActivity(transaction, maxChanges, ledgerActivity(rows));
  await addLate(transaction, inSpan(span));
  if (await passSpan(transaction, span)) onBeside();
  return span.hasMore || Math.max(folded?.taken ?? 0, activity) === maxChanges;
}

/** Whether there are changes to add; cheaper than an attempt to add them. */
export async function hasChanges(database: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql`
    (select from usage_changes limit 1) union all (select from activity_changes limit 1)`.execute(database);
  return rows.length > 0 || (await hasUnfolded(database));
}
