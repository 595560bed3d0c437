/** Stores the records of calls and turns. A record delivered again is stored once. */
import { type Kysely, type Selectable, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { AllCallsView } from "../tables/ledger.ts";
import { lockNotAvailable } from "../postgres/failure.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { type NewTurnRecord, turnExpressions } from "./turn-record.ts";
import { addToTagDays } from "./tag-accounts.ts";
import { callChanges } from "./usage-rollup.ts";
import { type HeldAccounts, type Stored, insertRows, takeBack } from "./ledger-rows.ts";
import { type SpentOnDay, addToDays, addToTotals, spentBy } from "./batch-spending.ts";
import { storingLock } from "./ledger-sums.ts";
import { missingText, withNumbers } from "./delivered-numbers.ts";
import { isNew, sortBatch } from "./sorted-batch.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";
import { answersRequest } from "./usage-sums.ts";
import { type DividedBatch, divideBatch } from "./whole-turns.ts";

/**
 * Code that runs before and after a batch is stored, in the same transaction. Once stored, other batches of the same
 * keys and workspaces wait for the end of the transaction, so reads after `store` include all earlier batches.
 * @param store stores the batch; resolves to the number of new calls
 */
export type WrapStoring = (
  transaction: Transaction<Database>,
  batch: UsageBatch,
  store: () => Promise<number>,
) => Promise<number>;

/** Numbers of records that were new. */
export interface StoredCounts {
  readonly calls: number;
  readonly turns: number;
}

/**
 * Stores a batch of calls and turns, all or none. Releases the reservations of the calls, and updates the sums of keys
 * and workspaces. A turn that arrives together with all of its calls becomes a row of the ledger, which a worker later
 * adds to the sums by hour and day; other records go to `usage_records` and `turns`.
 * @returns the number of new calls
 */
export function insertUsage(
  database: Kysely<Database>,
  records: readonly NewUsageRecord[],
  turns: readonly NewTurnRecord[] = [],
  around: WrapStoring = (_, __, store) => store(),
): Promise<number> {
  const batch = { records, turns };
  return runInTransaction(database, async (transaction) => {
    const divided = divideBatch(batch);
    const byTags = await lockForStoring(transaction, batch, divided.parts);
    return around(transaction, batch, async () => (await storeDivided(transaction, batch, divided, byTags)).calls);
  });
}

/** Stores a batch, all records or none, in the caller's transaction. */
export async function storeBatch(transaction: Transaction<Database>, batch: UsageBatch): Promise<StoredCounts> {
  const divided = divideBatch(batch);
  const byTags = await lockForStoring(transaction, batch, divided.parts);
  return storeDivided(transaction, batch, divided, byTags);
}

/**
 * Stores the parts of a batch; the transaction must hold the locks for it. @param byTags whether a workspace of the
 * batch has tag budgets
 */
async function storeDivided(
  transaction: Transaction<Database>,
  batch: UsageBatch,
  divided: DividedBatch,
  byTags: boolean,
): Promise<StoredCounts> {
  const { whole, parts, left, known } = await sortBatch(transaction, batch, divided);
  if (left.length > 0) await storeApart(transaction, left);
  const spent = parts.records.length + parts.turns.length > 0 ? await insertAll(transaction, parts, byTags) : [];
  const held: HeldAccounts = whole.length > 0 ? await insertRows(transaction, whole, known.ids) : new Map();
  const turns = await noteDeliveries(transaction, batch.turns, known.delivered);
  await addToTotals(transaction, whole);
  const allSpent = [...spent, ...spentBy(whole, byTags, held)];
  await addToDays(transaction, allSpent);
  await addToTagDays(transaction, allSpent);
  return { calls: allSpent.reduce((sum, { calls }) => sum + calls, 0), turns };
}

/** Moves turns out of the ledger, into `usage_records` and `turns`. Their cost is already counted. */
export async function storeApart(transaction: Transaction<Database>, generationIds: readonly string[]): Promise<void> {
  const { records, turns } = await takeBack(transaction, generationIds);
  await insertAll(transaction, { records, turns: [] });
  // Turns are stored one by one: if two processes recorded the same turn, the second record is compared with the stored
  // first one.
  for (const turn of turns) await insertAll(transaction, { records: [], turns: [turn] });
}

/**
 * Takes the locks for storing a batch, until the end of the transaction: (1) a lock by which the worker of the sums
 * sees which transactions store rows; (2) locks of the processes, so their batches are stored one after the other:
 * a batch delivered again meanwhile would count twice; (3) locks by which `lockLedgerExclusively` sees that turns of
 * these workspaces get export numbers; (4) locks of the workspaces, exclusive if turns arrive in parts: such a batch
 * waits for others, because a row of the ledger for the same turn would be invisible. This is a separate statement, so
 * that the next one sees what was committed meanwhile.
 *
 * The setting `sluice.reads_ledger` tells the trigger for earlier builds that this transaction looks into the ledger.
 * With `enable_seqscan` off, no prepared plan scans a whole partition only because it was small when the plan was made.
 * @returns whether one of the workspaces has tag budgets
 */
async function lockForStoring(
  transaction: Transaction<Database>,
  { records, turns }: UsageBatch,
  parts: UsageBatch,
): Promise<boolean> {
  const bootIds = [...new Set([...records, ...turns].map(({ boot_id: id }) => id))];
  const workspaceIds = [...new Set([...records, ...turns].map(({ workspace_id: id }) => id))];
  const ofParts = new Set([...parts.records, ...parts.turns].map(({ workspace_id: id }) => id));
  const { rows } = await sql<{ by_tags: boolean }>`${preparedAs("lock_for_storing")}
    select exists (select from workspaces where id = any(${workspaceIds}::uuid[]) and tag_budgets is not null) as by_tags,
      set_config('sluice.reads_ledger', 'on', true), set_config('enable_seqscan', 'off', true),
      pg_advisory_xact_lock_shared(${storingLock}), (
      select count(pg_advisory_xact_lock(hashtextextended(id, 1))) from (
        select id from unnest(${bootIds}::text[]) as named (id) order by 1
      ) as processes
    ), (
      select count(pg_advisory_xact_lock_shared(hashtextextended(id, 2))) from (
        select id from unnest(${workspaceIds}::text[]) as named (id) order by 1
      ) as workspaces
    ), (
      select count(case when id = any(${[...ofParts]}::text[]) then pg_advisory_xact_lock(hashtextextended(id, 3))
        else pg_advisory_xact_lock_shared(hashtextextended(id, 3)) end)
      from (select id from unnest(${workspaceIds}::text[]) as named (id) order by 1) as workspaces
    )`.execute(transaction);
  return rows[0]?.by_tags === true;
}

/**
 * Takes the shared lock that shows `lockLedgerExclusively` that turns of these workspaces get export numbers. Any
 * number of batches may hold it at the same time.
 */
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
 * Waits until no batch of the workspace is being stored, and blocks others until the end of the transaction, so no
 * later turn gets an export number below the last one. It waits only briefly, because new batches wait too.
 * @returns false when a slow batch is still being stored
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

/**
 * Stores calls and turns in the tables `usage_records` and `turns`.
 *
 * Records are passed to Postgres as json, whose values are read from the text. With jsonb, which is first built from
 * the text, a batch took 1.15 times the processor time of Postgres (PostgreSQL 15, 2026-11-27).
 * @param byTags sums spending by calls with different tags separately
 */
async function insertAll(
  transaction: Transaction<Database>,
  { records, turns }: UsageBatch,
  byTags = false,
): Promise<readonly SpentOnDay[]> {
  const { rows } = await sql<SpentOnDay>`${preparedAs(byTags ? "insert_parts_by_tags" : "insert_parts")}
    with stored as (
      insert into usage_records (
        turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at,
        duration_ms, model, provider, upstream_model, service_tier, status, http_status, input_tokens, cached_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, is_estimated, cost_usd, streamed, "user", session_id,
        door, task, operation, payer, first_ms, finish_reason, tags, in_turn
      )
      select
        turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at,
        duration_ms, model, provider, upstream_model, service_tier, status, http_status, input_tokens, cached_tokens,
        cache_write_tokens, output_tokens, reasoning_tokens, is_estimated, cost_usd, streamed, "user", session_id,
        door, task, operation, payer, first_ms, finish_reason, tags, true
      from json_populate_recordset(null::usage_records, ${JSON.stringify(records)}::json)
      on conflict (turn_id, attempt) do nothing
      returning *
    ),
    released as (
      delete from budget_reservations as held using stored
      where held.turn_id = stored.turn_id and held.attempt = stored.attempt
      returning held.turn_id, held.attempt, held.tags as accounts
    ),
    ${turnExpressions(JSON.stringify(turns))},
    ${noteCalls}
    select key_hash, workspace_id, to_char(opened_at at time zone 'UTC', 'YYYY-MM-DD') as day, count(*)::int as calls,
      (count(*) filter (where payer = 'key'))::int as attempts, coalesce(sum(cost_usd) filter (where payer = 'key'), 0) as cost_usd,
      ${byTags ? sql`tags` : sql`null::jsonb`} as tags, accounts
    from stored left join released using (turn_id, attempt) group by 1, 2, 3, 7, 8`.execute(transaction);
  return rows;
}

const noteCalls = sql`noted as (insert into usage_changes ${callChanges(sql`stored`)})`;

/**
 * Records the sequence numbers of new turn records by process start, and returns how many there are. The transaction
 * must have taken the locks of the processes before it read the known numbers.
 */
async function noteDeliveries(
  transaction: Transaction<Database>,
  turns: readonly NewTurnRecord[],
  delivered: Stored["delivered"],
): Promise<number> {
  const news = turns.filter((turn) => isNew(turn, delivered));
  if (news.length === 0) return 0;
  const arrived = new Map<string, { readonly instance: string; readonly numbers: Set<bigint> }>();
  for (const { boot_id: bootId, instance, sequence } of news) {
    const known = arrived.get(bootId) ?? { instance, numbers: new Set() };
    arrived.set(bootId, known);
    known.numbers.add(BigInt(sequence));
  }
  const boots = [...arrived]
    .map(([id, { instance, numbers }]) => {
      const known = withNumbers(delivered.get(id), numbers);
      return { id, instance, last: known.last.toString(), count: numbers.size, missing: missingText(known) };
    })
    .toSorted((one, other) => (one.id < other.id ? -1 : 1));
  await sql`${preparedAs("note_deliveries")}
    insert into turn_deliveries (boot_id, instance, last_sequence, records, missing)
    select boot_id, instance, last_sequence, records, missing::int8multirange from unnest(
      ${boots.map(({ id }) => id)}::uuid[], ${boots.map(({ instance }) => instance)}::text[],
      ${boots.map(({ last }) => last)}::bigint[], ${boots.map(({ count }) => count)}::bigint[],
      ${boots.map(({ missing }) => missing)}::text[]
    ) as arrived (boot_id, instance, last_sequence, records, missing)
    on conflict (boot_id) do update set last_sequence = excluded.last_sequence, missing = excluded.missing,
      records = turn_deliveries.records + excluded.records, recorded_at = now()`.execute(transaction);
  return boots.reduce((sum, { count }) => sum + count, 0);
}

/** Maximum number of turns in a portion. */
const turnsOfPortion = 1_000;

/** SQL condition on kinds of calls that have the prefix `charged_` when the key pays, as in migration 0024. */
const chargeable = sql`kind in ('judge', 'moderation', 'classifier', 'ocr')`;
/** SQL condition on calls stored before migration 0024 that are no answers: their purpose is known only by `kind`. */
const hasOnlyKind = sql`kind <> 'primary' and operation = 'turn' and payer = 'key'`;

/**
 * Adds calls stored by an admin-svc without turns to their turns and to the sums by hour and day, latest first, all
 * calls of a turn together. Requires the owner of the schema.
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

export type UsageRow = Selectable<AllCallsView>;

/** The calls of one request, in their order. @param keyHash of the key whose calls are read; undefined for any key */
export function generationRecords(
  database: Kysely<Database>,
  generationId: string,
  { workspaceId, keyHash }: { readonly workspaceId: string; readonly keyHash?: string },
): Promise<UsageRow[]> {
  return (
    database
      .selectFrom("all_calls")
      .selectAll()
      .where("generation_id", "=", generationId)
      .where("workspace_id", "=", workspaceId)
      .where("payer", "=", "key")
      .$if(keyHash !== undefined, (own) => own.where("key_hash", "=", keyHash as string))
      // Answering calls come last, because the last of them gave the final answer.
      .orderBy(answersRequest("all_calls"))
      .orderBy("attempt")
      .orderBy("opened_at")
      .execute()
  );
}
