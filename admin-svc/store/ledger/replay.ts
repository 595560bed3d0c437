/** Stores records again that processes have delivered before, after the database was restored from a backup. */
import { timeOfId } from "@sluice/proto/lib/ids/id.js";
import { type Kysely, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { keptFromMs } from "./ledger-rows.ts";
import { type StoredCounts, storeBatch } from "./usage.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";

export interface ReplayedCounts extends StoredCounts {
  /** Number of records that the database had already. */
  readonly known: number;
  /**
   * Number of records of days that retention has removed. They are left out, because the sums may or may not include
   * them.
   */
  readonly expired: number;
  /** Number of records of workspaces that the database lacks: they were removed, or created after the backup. */
  readonly foreign: number;
}

/** Options of a replay. */
export interface Replay {
  /** Whether to store nothing and only count. */
  readonly isTrial: boolean;
  /** Turns of the batch, whose days decide what is stored; needed also when records are stored one by one. */
  readonly turns: readonly NewTurnRecord[];
}

/** Error that rolls back the transaction of a trial run. */
class Undone extends Error {
  readonly counts: ReplayedCounts;
  constructor(counts: ReplayedCounts) {
    super("undone");
    this.counts = counts;
  }
}

/** Stores the missing records of a batch, all or none. Requires the owner of the schema. */
export async function replayBatch(
  database: Kysely<Database>,
  batch: UsageBatch,
  { isTrial, turns }: Replay,
): Promise<ReplayedCounts> {
  try {
    return await runInTransaction(database, async (transaction) => {
      const counts = await storeMissing(transaction, batch, turns);
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
  deciding: readonly NewTurnRecord[],
): Promise<ReplayedCounts> {
  const from = await keptFrom(transaction);
  const expiredTurns = new Set(deciding.filter((turn) => startOf(turn) < from).map(nameTurn));
  // Whether retention keeps a record. The day of the turn decides, because a call that began after midnight was removed
  // with the row of its turn.
  const isKept = (record: NewUsageRecord | NewTurnRecord): boolean =>
    startOf(record) >= from && !expiredTurns.has(nameTurn(record));
  const workspaces = await knownWorkspaces(transaction, [...records, ...turns]);
  const isKnown = ({ workspace_id: id }: NewUsageRecord | NewTurnRecord): boolean => workspaces.has(id);
  const recent = { records: records.filter(isKept), turns: turns.filter(isKept) };
  const kept = { records: recent.records.filter(isKnown), turns: recent.turns.filter(isKnown) };
  const left = {
    expired: records.length + turns.length - recent.records.length - recent.turns.length,
    foreign: recent.records.length + recent.turns.length - kept.records.length - kept.turns.length,
  };
  const count = kept.records.length + kept.turns.length;
  if (count === 0) return { calls: 0, turns: 0, known: 0, ...left };
  const stored = await storeBatch(transaction, kept);
  return { ...stored, known: count - stored.calls - stored.turns, ...left };
}

const nameTurn = ({ generation_id: id, key_hash: key }: { generation_id: string; key_hash: string }): string =>
  `${key} ${id}`;

/**
 * Parts of a turn begin within a day of each other. An id of another build may look like an id with a different time,
 * so a difference of more than two days is ignored.
 */
const maxApartMs = 2 * 86_400_000;

/**
 * Start of a record's turn in milliseconds since 1970; the turn's id contains it, even when the record of the turn is
 * missing.
 */
function startOf({ generation_id: id, opened_at: openedAt }: NewUsageRecord | NewTurnRecord): number {
  const at = new Date(openedAt).getTime();
  const begun = timeOfId(id, "gen-") ?? at;
  return begun < at && begun > at - maxApartMs ? begun : at;
}

/** Finds the workspaces that exist. Deleted workspaces count, because their records stay. */
async function knownWorkspaces(
  transaction: Transaction<Database>,
  records: readonly { readonly workspace_id: string }[],
): Promise<ReadonlySet<string>> {
  const sought = [...new Set(records.map(({ workspace_id: id }) => id))];
  const { rows } = await sql<{ id: string }>`
    select id from workspaces where id = any(${sought}::uuid[]) for key share`.execute(transaction);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Time in milliseconds since 1970 from which records are complete. Retention waits for this transaction before it
 * removes more.
 */
async function keptFrom(transaction: Transaction<Database>): Promise<number> {
  const { rows } = await sql<{ from: number | null }>`${keptFromMs} for share`.execute(transaction);
  return rows[0]?.from ?? Number.NEGATIVE_INFINITY;
}

/** Time when the last record was stored; undefined without records. */
export async function lastStoredAt(database: Kysely<Database>): Promise<Date | undefined> {
  const { rows } = await sql<{ at: Date | null }>`select max(recorded_at) as at from turn_deliveries`.execute(database);
  return rows[0]?.at ?? undefined;
}
