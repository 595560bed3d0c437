/** Stores records again that processes have delivered before, after a restore of the database. */
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { keptFromMs } from "./ledger-rows.ts";
import { type StoredCounts, storeBatch } from "./usage.ts";
import type { UsageBatch } from "./usage-batch.ts";

export interface ReplayedCounts extends StoredCounts {
  /** Records that the database had. */
  readonly known: number;
  /** Records of days that retention has removed: nobody knows whether the sums have them, so they are left out. */
  readonly expired: number;
}

/** Ends a transaction without its changes. */
class Undone extends Error {
  readonly counts: ReplayedCounts;
  constructor(counts: ReplayedCounts) {
    super("undone");
    this.counts = counts;
  }
}

/**
 * Stores the missing records of a batch, all or none. Needs the owner of the schema.
 * @param isTrial stores nothing, and counts what would be stored
 */
export async function replayBatch(
  database: Kysely<Database>,
  batch: UsageBatch,
  isTrial: boolean,
): Promise<ReplayedCounts> {
  try {
    return await runInTransaction(database, async (transaction) => {
      const counts = await storeMissing(transaction, batch);
      if (isTrial) throw new Undone(counts);
      return counts;
    });
  } catch (error) {
    if (error instanceof Undone) return error.counts;
    throw error;
  }
}

async function storeMissing(
  transaction: Transaction<Database>,
  { records, turns }: UsageBatch,
): Promise<ReplayedCounts> {
  const from = await keptFrom(transaction);
  const isKept = ({ opened_at: at }: { readonly opened_at: Date | string }): boolean => new Date(at).getTime() >= from;
  // A call may have begun after the midnight that its turn began before; it went with the row of the turn.
  const expiredTurns = new Set(turns.filter((turn) => !isKept(turn)).map(nameTurn));
  const kept = {
    records: records.filter((record) => isKept(record) && !expiredTurns.has(nameTurn(record))),
    turns: turns.filter(isKept),
  };
  const count = kept.records.length + kept.turns.length;
  const expired = records.length + turns.length - count;
  if (count === 0) return { calls: 0, turns: 0, known: 0, expired };
  const stored = await storeBatch(transaction, kept);
  return { ...stored, known: count - stored.calls - stored.turns, expired };
}

const nameTurn = ({ generation_id: id, key_hash: key }: { generation_id: string; key_hash: string }): string =>
  `${key} ${id}`;

/** The time from which records are complete, in milliseconds. Retention waits for the transaction before it removes more. */
async function keptFrom(transaction: Transaction<Database>): Promise<number> {
  const { rows } = await sql<{ from: number | null }>`${keptFromMs} for share`.execute(transaction);
  return rows[0]?.from ?? Number.NEGATIVE_INFINITY;
}

/** When the last record was stored; undefined without records. */
export async function lastStoredAt(database: Kysely<Database>): Promise<Date | undefined> {
  const { rows } = await sql<{ at: Date | null }>`select max(recorded_at) as at from turn_deliveries`.execute(database);
  return rows[0]?.at ?? undefined;
}
