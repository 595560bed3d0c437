/** The ledger: records of calls to providers. A repeated record is stored once. */
import { type Insertable, type Kysely, type Selectable, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { UsageRecordsTable } from "../tables/usage.ts";
import { lockNotAvailable } from "../postgres/failure.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type NewTurnRecord, turnExpressions } from "./turn-record.ts";
import { callChanges } from "./usage-rollup.ts";
import { answersRequest } from "./usage-sums.ts";

export type NewUsageRecord = Omit<
  Insertable<UsageRecordsTable>,
  "sequence" | "duration_ms" | "first_ms" | "in_turn" | TokenColumn
> & {
  /** Text, because JSON has no whole numbers of 64 bits. */
  readonly sequence: string;
  readonly duration_ms: number;
  readonly first_ms: number | null;
} & { readonly [column in TokenColumn]: number | null };

type TokenColumn = "input_tokens" | "cached_tokens" | "cache_write_tokens" | "output_tokens" | "reasoning_tokens";

export interface UsageBatch {
  readonly records: readonly NewUsageRecord[];
  readonly turns: readonly NewTurnRecord[];
}

/**
 * Work before and after a batch is stored, in its transaction. After that, batches of the same keys and workspaces wait for the end of the transaction, so
 * later reads include all earlier batches.
 * @param store resolves to the number of new records of calls
 */
export type WrapStoring = (
  transaction: Transaction<Database>,
  batch: UsageBatch,
  store: () => Promise<number>,
) => Promise<number>;

/**
 * Stores all records of calls and turns or none. Releases the reservations of the calls, updates the sums of key and workspace and the rows of turns, and
 * records the pending changes of the sums by hour and day.
 * @returns the number of new records of calls
 */
export function insertUsage(
  database: Kysely<Database>,
  records: readonly NewUsageRecord[],
  turns: readonly NewTurnRecord[] = [],
  around: WrapStoring = (_, __, store) => store(),
): Promise<number> {
  const bootIds = [...new Set([...records, ...turns].map(({ boot_id: id }) => id))];
  const workspaceIds = [...new Set([...records, ...turns].map(({ workspace_id: id }) => id))];
  return runInTransaction(database, async (transaction) => {
    await lockProcesses(transaction, bootIds);
    await lockLedgerShared(transaction, workspaceIds);
    return around(transaction, { records, turns }, async () => {
      const spent = await insertAll(transaction, records, turns);
      await addToDays(transaction, spent);
      return spent.reduce((sum, { calls }) => sum + calls, 0);
    });
  });
}

/**
 * Records of a process are stored one batch after the other: a batch repeated while it is being stored would count twice in its turns. A separate
 * statement, so the next transaction sees the commit of the last lock holder.
 */
async function lockProcesses(transaction: Transaction<Database>, bootIds: readonly string[]): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(id, 1)) from (
      select distinct id from unnest(${bootIds}::text[]) as named (id) order by 1
    ) as ordered`.execute(transaction);
}

/** Announces to `lockLedgerExclusively` that turns of these workspaces get numbers. Any number of batches may do so at the same time. */
export async function lockLedgerShared(
  transaction: Transaction<Database>,
  workspaceIds: readonly string[],
): Promise<void> {
  await sql`
    select pg_advisory_xact_lock_shared(hashtextextended(id, 2)) from (
      select distinct id from unnest(${workspaceIds}::text[]) as named (id) order by 1
    ) as ordered`.execute(transaction);
}

/**
 * Waits until no batch of the workspace is being stored, and blocks others until the end of the transaction: no later turn gets a number below the last
 * one. Waits only briefly, because new batches wait too.
 * @returns false when a slow batch is being stored
 */
export async function lockLedgerExclusively(transaction: Transaction<Database>, workspaceId: string): Promise<boolean> {
  await sql`savepoint closing`.execute(transaction);
  try {
    await sql`set local lock_timeout = '200ms'`.execute(transaction);
    await sql`select pg_advisory_xact_lock(hashtextextended(${workspaceId}, 2))`.execute(transaction);
    return true;
  } catch (error) {
    if ((error as { readonly code?: string }).code !== lockNotAvailable) throw error;
    await sql`rollback to savepoint closing`.execute(transaction);
    return false;
  }
}

/** New calls of a key on a day in UTC. */
interface SpentOnDay {
  readonly key_hash: string;
  readonly workspace_id: string;
  readonly day: string;
  readonly calls: number;
  /** Calls paid by the key. */
  readonly attempts: number;
  /** USD as a decimal. */
  readonly cost_usd: string;
}

/**
 * Records go to Postgres as json, whose values are read from its text. jsonb is first built from the text and then read once: a batch took 1.15 times the
 * processor time of Postgres (PostgreSQL 15, 2026-11-27).
 */
async function insertAll(
  transaction: Transaction<Database>,
  records: readonly NewUsageRecord[],
  turns: readonly NewTurnRecord[],
): Promise<readonly SpentOnDay[]> {
  const { rows } = await sql<SpentOnDay>`
    with stored as (
      insert into usage_records (
        turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at,
        duration_ms, model, provider, upstream_model, service_tier, status, http_status, input_tokens, cached_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, is_estimated, cost_usd, streamed, "user", session_id,
        door, task, operation, payer, first_ms, finish_reason, in_turn
      )
      select
        turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at,
        duration_ms, model, provider, upstream_model, service_tier, status, http_status, input_tokens, cached_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, is_estimated, cost_usd, streamed, "user", session_id,
        door, task, operation, payer, first_ms, finish_reason, true
      from json_populate_recordset(null::usage_records, ${JSON.stringify(records)}::json)
      on conflict (turn_id, attempt) do nothing
      returning *
    ),
    released as (
      delete from budget_reservations as held using stored
      where held.turn_id = stored.turn_id and held.attempt = stored.attempt
    ),
    ${turnExpressions(JSON.stringify(turns))},
    ${noteCalls}
    select key_hash, workspace_id, to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as calls,
      (count(*) filter (where payer = 'key'))::int as attempts, coalesce(sum(cost_usd) filter (where payer = 'key'), 0) as cost_usd
    from stored group by 1, 2, 3`.execute(transaction);
  return rows;
}

const noteCalls = sql`noted as (insert into usage_changes ${callChanges(sql`stored`)})`;

/** Comes last, because batches of a workspace wait here for each other until the commit. */
async function addToDays(transaction: Transaction<Database>, spent: readonly SpentOnDay[]): Promise<void> {
  const paid = spent.filter(({ attempts }) => attempts > 0);
  if (paid.length === 0) return;
  await sql`
    with paid as (
      select * from jsonb_to_recordset(${JSON.stringify(paid)}::jsonb)
        as paid (key_hash text, workspace_id uuid, day date, attempts bigint, cost_usd numeric)
    ),
    counted as (
      insert into key_days (key_hash, day, cost_usd, attempts)
      select key_hash, day, sum(cost_usd), sum(attempts) from paid group by 1, 2 order by 1, 2
      on conflict (key_hash, day) do update
        set cost_usd = key_days.cost_usd + excluded.cost_usd, attempts = key_days.attempts + excluded.attempts
    )
    insert into workspace_days (workspace_id, day, cost_usd, attempts)
    select workspace_id, day, sum(cost_usd), sum(attempts) from paid group by 1, 2 order by 1, 2
    on conflict (workspace_id, day) do update
      set cost_usd = workspace_days.cost_usd + excluded.cost_usd, attempts = workspace_days.attempts + excluded.attempts`.execute(
    transaction,
  );
}

/** Maximum number of turns in a portion. */
const turnsOfPortion = 1_000;

/** Kinds of calls with the prefix `charged_` when the key pays, as in migration 0024. */
const chargeable = sql`kind in ('judge', 'moderation', 'classifier', 'ocr')`;
/** Whether a call was stored before migration 0024 and is no answer: only its kind shows its purpose. */
const hasOnlyKind = sql`kind <> 'primary' and operation = 'turn' and payer = 'key'`;

/**
 * Adds calls stored by an admin-svc without turns to their turns and to the sums by hour and day, the latest first; all calls of a turn together. Needs the
 * owner of the schema.
 * @returns the number of calls in this portion; 0 when nothing is left
 */
export function addCallsWithoutTurns(database: Kysely<Database>): Promise<number> {
  return runInTransaction(database, async (transaction) => {
    const { rows } = await sql<{ added: number }>`
      with named as (
        select distinct generation_id, key_hash from (
          select generation_id, key_hash from usage_records where not in_turn order by opened_at desc limit ${turnsOfPortion}
        ) as latest
      ),
      stored as (
        update usage_records as call set in_turn = true,
          operation = case when ${hasOnlyKind} then regexp_replace(kind, '^charged_', '') else operation end,
          payer = case when ${hasOnlyKind} and ${chargeable} then 'operator' else payer end
        from named where call.generation_id = named.generation_id and call.key_hash = named.key_hash and not in_turn
        returning call.*
      ),
      ${turnExpressions("[]")},
      ${noteCalls}
      select count(*)::int as added from stored`.execute(transaction);
    return rows[0]?.added ?? 0;
  });
}

export type UsageRow = Selectable<UsageRecordsTable>;

/** The calls for one request, in order. @param keyHash restricts them to calls of one key; undefined means any */
export function generationRecords(
  database: Kysely<Database>,
  generationId: string,
  { workspaceId, keyHash }: { readonly workspaceId: string; readonly keyHash?: string },
): Promise<UsageRow[]> {
  return (
    database
      .selectFrom("usage_records")
      .selectAll()
      .where("generation_id", "=", generationId)
      .where("workspace_id", "=", workspaceId)
      .where("payer", "=", "key")
      .$if(keyHash !== undefined, (own) => own.where("key_hash", "=", keyHash as string))
      // Answering calls come last, because they gave the final answer.
      .orderBy(answersRequest("usage_records"))
      .orderBy("attempt")
      .orderBy("opened_at")
      .execute()
  );
}
