/**
 * Cursors of exports: the last turn of each workspace that an export has delivered. A batch keeps its bounds until it
 * is delivered, so a repeated delivery replaces the results of an earlier attempt.
 */
import { type Kysely, type RawBuilder, type Selectable, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { ExportCursorsTable } from "../tables/console.ts";
import type { TurnRow } from "../ledger/generations.ts";
import { numberOf } from "../ledger/names.ts";
import { lockLedgerExclusively, lockLedgerShared } from "../ledger/usage.ts";
import { runInTransaction } from "../postgres/transaction.ts";

export type ExportCursor = Selectable<ExportCursorsTable>;

/** A cursor together with the bounds of its current batch. */
export type ExportBatch = ExportCursor & { readonly batch_last: string; readonly batch_at: Date };

export interface ExportSource {
  readonly name: string;
  /** Name or id of the only exported workspace; undefined for all workspaces. */
  readonly workspace?: string | undefined;
}

/** Starts an export with the turns stored from now on. A workspace created later is exported from its beginning. */
export async function openCursors(database: Kysely<Database>, source: ExportSource, now: Date): Promise<void> {
  const { name, workspace = null } = source;
  await sql`
    insert into export_positions (export, workspace_id, started_at, started, delivered, due_at)
    select ${name}, id, coalesce(earlier.started_at, ${now}), coalesce(earlier.started, latest), coalesce(earlier.started, latest), ${now}
    from workspaces cross join (select case when is_called then last_value else 0 end as latest from ledger_log) as log
      left join lateral (select started_at, started from export_positions where export = ${name} order by started limit 1) as earlier on true
    where (${workspace}::text is null or ${workspace}::text in (name, id::text))
      and not exists (select from export_positions where export = ${name} and workspace_id = id)
    order by id
    on conflict do nothing`.execute(database);
}

/**
 * Minutes after the end of a turn's last call when a turn without a record counts as complete, because its process must
 * have died.
 */
const settledMinutes = 15;

/** Assigns export numbers to turns without a record, left by a killed process or by an admin-svc without exports. */
export async function logSettledTurns(database: Kysely<Database>, name: string, now: Date): Promise<void> {
  const settled = sql`log_sequence is null and opened_at + duration_ms * interval '1 ms' < ${now}::timestamptz - make_interval(mins => ${settledMinutes})
    and opened_at >= (select min(started_at) from export_positions where export = ${name})`;
  const { rows } = await sql<{
    id: string;
  }>`select distinct workspace_id::text as id from turns where ${settled}`.execute(database);
  for (const { id } of rows)
    await runInTransaction(database, async (transaction) => {
      await lockLedgerShared(transaction, [id]);
      await sql`update turns set log_sequence = nextval('ledger_log') where workspace_id = ${id} and ${settled}`.execute(
        transaction,
      );
    });
}

export interface BatchClaim {
  readonly name: string;
  readonly now: Date;
  /** Time until which no other process may claim the batch. */
  readonly until: Date;
  /** Maximum number of turns in a new batch. */
  readonly limit: number;
}

/** Milliseconds until the next attempt for a workspace whose turns are just being stored. */
const busyMs = 1_000;

/**
 * Claims a workspace with undelivered turns, and sets the bounds of its batch.
 * @returns undefined when nothing is due; "busy" when turns of the workspace are just being stored, while another
 * workspace may be due
 */
export function claimBatch(database: Kysely<Database>, claim: BatchClaim): Promise<ExportBatch | "busy" | undefined> {
  const { name, now } = claim;
  return runInTransaction(database, async (transaction) => {
    const waiting = await findWaiting(transaction, name, now);
    if (!waiting) return undefined;
    // A transaction not committed yet may have taken lower numbers than the visible ones.
    if (!waiting.bounded && !(await lockLedgerExclusively(transaction, waiting.id))) {
      const later = new Date(now.getTime() + busyMs);
      await sql`update export_positions set due_at = ${later} where export = ${name} and workspace_id = ${waiting.id}`.execute(
        transaction,
      );
      return "busy";
    }
    return await boundBatch(transaction, waiting.id, claim);
  });
}

/** A workspace with undelivered turns. */
interface Waiting {
  readonly id: string;
  /** Whether its batch has bounds from an earlier attempt. */
  readonly bounded: boolean;
}

interface LoggedTurns {
  /** Selected columns, which both `turns` and `ledger` have. */
  readonly columns: RawBuilder<unknown>;
  readonly workspace: RawBuilder<unknown>;
  readonly after: RawBuilder<unknown>;
  readonly limit: number;
}

/**
 * The first turns after an export number. The tables `turns` and `ledger` are queried separately, because each has an
 * index in this order.
 */
const loggedTurns = ({ columns, workspace, after, limit }: LoggedTurns): RawBuilder<unknown> => sql`
  (select ${columns} from turns where turns.workspace_id = ${workspace} and log_sequence > ${after} order by log_sequence limit ${limit})
  union all
  (
    select ${columns} from ledger where workspace = ${numberOf(workspace)} and not is_moved and log_sequence > ${after}
    order by log_sequence limit ${limit}
  )`;

/**
 * Finds a workspace with undelivered turns. It selects the first turn by the order of the index: with `exists`,
 * Postgres may read the whole table for each workspace without such a turn.
 */
async function findWaiting(transaction: Transaction<Database>, name: string, now: Date): Promise<Waiting | undefined> {
  const { rows } = await sql<Waiting>`
    select workspace_id::text as id, batch_last is not null as bounded
    from export_positions as waiting left join lateral (
      ${loggedTurns({ columns: sql`true as waits, log_sequence`, workspace: sql`waiting.workspace_id`, after: sql`waiting.delivered`, limit: 1 })}
      order by log_sequence limit 1
    ) as next on true
    where export = ${name} and due_at <= ${now} and (batch_last is not null or waits)
    order by due_at limit 1 for update of waiting skip locked`.execute(transaction);
  return rows[0];
}

async function boundBatch(
  transaction: Transaction<Database>,
  workspaceId: string,
  { name, now, until, limit }: BatchClaim,
): Promise<ExportBatch | undefined> {
  const { rows } = await sql<ExportBatch>`
    update export_positions as claimed set
      attempts = attempts + 1, due_at = ${until}, batch_at = coalesce(batch_at, ${now}),
      batch_last = coalesce(batch_last, (
        select max(log_sequence) from (
          ${loggedTurns({ columns: sql`log_sequence`, workspace: sql`claimed.workspace_id`, after: sql`claimed.delivered`, limit })}
          order by log_sequence limit ${limit}
        ) as next
      ))
    where export = ${name} and workspace_id = ${workspaceId}
    returning *`.execute(transaction);
  return rows[0];
}

/** Reads the turns of a batch. A turn that changed since an earlier attempt belongs to a later batch. */
export async function turnsOfBatch(database: Kysely<Database>, batch: ExportBatch): Promise<readonly TurnRow[]> {
  const { rows } = await sql<TurnRow>`
    select turns.*, api_keys.name as key_name from all_turns as turns left join api_keys on api_keys.hash = turns.key_hash
    where generation_id = any(array(
        select generation_id from turns
        where workspace_id = ${batch.workspace_id} and log_sequence > ${batch.delivered} and log_sequence <= ${batch.batch_last}
        union all
        select generation_id from ledger where workspace = ${numberOf(batch.workspace_id)} and not is_moved
          and log_sequence > ${batch.delivered} and log_sequence <= ${batch.batch_last}
      ))
      and turns.workspace_id = ${batch.workspace_id} and log_sequence > ${batch.delivered} and log_sequence <= ${batch.batch_last}
    order by log_sequence`.execute(database);
  return rows;
}

/** Moves the cursor behind a delivered batch, unless another process has done so. */
export async function advanceCursor(database: Kysely<Database>, batch: ExportBatch, due: Date): Promise<void> {
  await sql`
    update export_positions set delivered = batch_last, batch_last = null, batch_at = null, attempts = 0, due_at = ${due}, last_error = null
    where export = ${batch.export} and workspace_id = ${batch.workspace_id}
      and delivered = ${batch.delivered} and batch_last = ${batch.batch_last}`.execute(database);
}

/** Records a failed delivery, unless another process has claimed the batch meanwhile. */
export async function postponeBatch(
  database: Kysely<Database>,
  batch: ExportBatch,
  due: Date,
  reason: string,
): Promise<void> {
  await sql`
    update export_positions set due_at = ${due}, last_error = ${reason}
    where export = ${batch.export} and workspace_id = ${batch.workspace_id}
      and delivered = ${batch.delivered} and batch_last = ${batch.batch_last} and attempts = ${batch.attempts}`.execute(
    database,
  );
}

export interface ExportLag {
  readonly export: string;
  /** Seconds since the start of the oldest undelivered turn; 0 when every turn is delivered. */
  readonly seconds: number;
}

export async function exportLags(database: Kysely<Database>, now: Date): Promise<readonly ExportLag[]> {
  const { rows } = await sql<ExportLag>`
    select export, coalesce(extract(epoch from ${now}::timestamptz - min(opened_at)), 0)::float8 as seconds
    from export_positions left join lateral (
      ${loggedTurns({ columns: sql`opened_at, log_sequence`, workspace: sql`export_positions.workspace_id`, after: sql`delivered`, limit: 1 })}
      order by log_sequence limit 1
    ) as oldest on true
    group by 1`.execute(database);
  return rows;
}
