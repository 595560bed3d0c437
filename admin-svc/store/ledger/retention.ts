/**
 * Removes old ledger records and audit entries in batches. Ledger and audit log pass their checks after each batch, so
 * a run may be interrupted at any time.
 */
import { type Kysely, sql } from "kysely";
import { type Author, recordAudit } from "../audit.ts";
import type { Database } from "../database.ts";
import { errorReason } from "../postgres/failure.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type RemovedDay, earliestDay, holderOf, removeDay } from "./days.ts";
import { type Removal, removalOfCalls, removalOfTurns } from "./expired.ts";
import { sumAll } from "./fold.ts";
import type { UnsummedUsers } from "./user-sums.ts";

const batch = 10_000;

/** Number of UTC days to keep, without today; an absent number keeps the records for ever. */
export interface RetentionPeriods {
  readonly ledgerDays?: number;
  readonly auditDays?: number;
}

export interface RemovedCounts {
  readonly from: "ledger" | "turns" | "audit";
  /** Number of records removed so far. */
  readonly count: number;
}

/**
 * Records the removal in the audit log of every workspace, then removes batch by batch, and yields after each batch.
 * @throws Error at the end if days of the ledger were kept, because sums lack some of their turns
 */
export async function* removeExpiredRecords(
  database: Kysely<Database>,
  author: Omit<Author, "workspaceId">,
  { ledgerDays, auditDays }: RetentionPeriods,
): AsyncGenerator<RemovedCounts> {
  const workspaces = await database.selectFrom("workspaces").select("id").orderBy("id").execute();
  const after = { ledger_days: ledgerDays ?? null, audit_days: auditDays ?? null };
  for (const { id: workspaceId } of workspaces) {
    const entry = { action: "retention.run", target: "ledger and audit", after };
    await runInTransaction(database, (transaction) => recordAudit(transaction, { ...author, workspaceId }, entry));
  }
  let kept: Error | undefined;
  if (ledgerDays !== undefined) {
    const before = await keepLedgerFor(database, ledgerDays);
    const days = await removeDays(database, before);
    kept = days.kept;
    yield* counted("ledger", removalOfCalls(database, before), days.calls);
    yield* counted("turns", removalOfTurns(database, before), days.turns);
  }
  if (auditDays !== undefined) {
    yield* counted("audit", async () => {
      let removed = 0;
      for (const { id } of workspaces) removed += await removeEntries(database, id, auditDays);
      return removed;
    });
  }
  if (kept !== undefined) throw kept;
}

/** @param count number of records removed before */
async function* counted(from: RemovedCounts["from"], remove: Removal, count = 0): AsyncGenerator<RemovedCounts> {
  for (;;) {
    const removed = await remove();
    count += removed;
    yield { from, count };
    if (removed === 0) return;
  }
}

/** SQL for midnight UTC, a number of days ago. */
const daysAgo = (days: number) =>
  sql<Date>`(date_trunc('day', now() at time zone 'UTC') - make_interval(days => ${days})) at time zone 'UTC'`;

/** Start of the oldest day to keep. @param days number of kept days before today */
export async function beginningOf(database: Kysely<Database>, days: number): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`select ${daysAgo(days)} as at`.execute(database);
  return rows[0]?.at ?? new Date(0);
}

/**
 * Records how long the ledger is kept; call it before a removal. From then on, the check of the ledger skips the sums
 * of earlier days. @returns the time before which records are removed
 */
export async function keepLedgerFor(database: Kysely<Database>, days: number): Promise<Date> {
  await sql`
    update ledger_retention
    set kept_from = greatest(kept_from, (${daysAgo(days)} at time zone 'UTC')::date)`.execute(database);
  return await beginningOf(database, days);
}

interface RemovedDays extends RemovedDay {
  /** Error with the names of the days that were kept; undefined when all were removed. */
  readonly kept: Error | undefined;
}

/**
 * Removes expired days of the ledger whose turns are all in the sums. Other days are kept, and the removal continues
 * with later days.
 */
async function removeDays(database: Kysely<Database>, before: Date): Promise<RemovedDays> {
  const removed = { calls: 0, turns: 0 };
  const kept: string[] = [];
  let failed: readonly UnsummedUsers[] | undefined;
  const isHeld = async (day: string) => (await holderOf(database, day, [])) === "sums";
  for (;;) {
    const day = await earliestDay(database, before, kept.at(-1));
    if (day === undefined) return { ...removed, kept: keptDays(kept, failed) };
    if (await isHeld(day)) failed ??= await sumAll(database);
    if (await isHeld(day)) {
      kept.push(day);
      continue;
    }
    const { calls, turns } = await removeDay(database, day);
    removed.calls += calls;
    removed.turns += turns;
  }
}

function keptDays(days: readonly string[], failed: readonly UnsummedUsers[] = []): Error | undefined {
  if (days.length === 0) return undefined;
  const list = days.join(", ");
  if (failed.length === 0) return new Error(`turns of ${list} are still being stored: run it again`);
  const reasons = failed.map(({ message, cause }) => `${message}: ${errorReason(cause)}`);
  return new Error(`turns of ${list} are kept: ${reasons.join("; ")}`, { cause: failed[0] });
}

/**
 * Removes audit entries. The workspace keeps the hash of the last removed entry, with which the remaining chain begins.
 */
async function removeEntries(database: Kysely<Database>, workspaceId: string, days: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    with old as (
      select sequence, hash from audit_log
      where workspace_id = ${workspaceId} and sequence <= (
        select max(sequence) from audit_log where workspace_id = ${workspaceId} and at < ${daysAgo(days)}
      )
      order by sequence limit ${batch}
    ),
    trimmed as (
      update workspaces set audit_trimmed_sequence = last.sequence, audit_trimmed_hash = last.hash
      from (select sequence, hash from old order by sequence desc limit 1) as last
      where id = ${workspaceId}
    ),
    removed as (
      delete from audit_log where workspace_id = ${workspaceId} and sequence in (select sequence from old)
      returning sequence
    )
    select count(*)::int as removed from removed`.execute(database);
  return rows[0]?.removed ?? 0;
}
