/** Reads and writes of rows of the ledger, for a batch of records. */
import { type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { lockSums } from "./sums-progress.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { withdrawRows } from "./ledger-sums.ts";
import { type LedgerRow, type WholeTurn, toLedgerRow } from "./whole-turns.ts";

/** The stored rows that concern a batch. */
export interface Stored {
  /** Number of the last record of a turn, by start of a process. */
  readonly delivered: ReadonlyMap<string, bigint>;
  /** Ids of turns outside of the ledger. */
  readonly apart: ReadonlySet<string>;
  /** Names of the calls of turns in the ledger, as `nameOfCall` gives them, by the id of the turn. */
  readonly calls: ReadonlyMap<string, ReadonlySet<string>>;
  /** Days with a partition, such as 2026-11-21. */
  readonly days: ReadonlySet<string>;
  /** Numbers of names. */
  readonly ids: ReadonlyMap<string, number>;
}

export const nameOfCall = ({ turn_id: turnId, attempt }: Pick<NewUsageRecord, "turn_id" | "attempt">): string =>
  `${turnId} ${attempt}`;

export interface Sought {
  readonly bootIds: readonly string[];
  readonly generationIds: readonly string[];
  readonly names: readonly string[];
  /** Times of the earliest and the latest record; parts of a turn begin within a day. */
  readonly from: Date;
  readonly to: Date;
}

/**
 * The caller holds the locks of the processes, so it sees everything that was stored of their earlier batches. The ledger takes turns of today and yesterday:
 * their partitions are open.
 *
 * Each turn is sought by its id alone, behind `offset 0`: joined at once, a plan that was made for an empty partition would read all of it with each batch.
 */
export async function findStored(
  transaction: Transaction<Database>,
  { bootIds, generationIds, names, from, to }: Sought,
): Promise<Stored> {
  const { rows } = await sql<{
    delivered: Readonly<Record<string, string>> | null;
    apart: readonly string[];
    whole: readonly { readonly id: string; readonly calls: readonly string[] }[] | null;
    days: readonly string[];
    ids: Readonly<Record<string, number>> | null;
  }>`${preparedAs("find_stored")}
    with recent as (
      select found.* from unnest(${generationIds}::text[]) as sought (id) cross join lateral (
        select generation_id as id, case when calls is null then array_remove(array[turn_id || ' ' || attempt], null)
          else array(select (call ->> 'turn_id') || ' ' || (call ->> 'attempt') from jsonb_array_elements(calls) as call) end as calls
        from ledger
        where generation_id = sought.id and not is_moved
          and opened_at between ${from}::timestamptz - interval '1 day' and ${to}::timestamptz + interval '1 day'
        offset 0
      ) as found
    )
    select
      (select json_object_agg(boot_id, last_sequence::text) from turn_deliveries where boot_id = any(${bootIds}::uuid[])) as delivered,
      array(
        select sought.id from unnest(${generationIds}::text[]) as sought (id) cross join lateral (
          select from turns where generation_id = sought.id offset 0
        ) as found
      ) as apart,
      (select json_agg(recent) from recent) as whole,
      array(select day::text from ledger_days where day >= (now() at time zone 'UTC')::date - 1) as days,
      (select json_object_agg(name, id) from ledger_names where name = any(${names}::text[])) as ids`.execute(
    transaction,
  );
  const [found] = rows;
  return {
    delivered: new Map(Object.entries(found?.delivered ?? {}).map(([boot, last]) => [boot, BigInt(last)])),
    apart: new Set(found?.apart),
    calls: new Map((found?.whole ?? []).map(({ id, calls }) => [id, new Set(calls)])),
    days: new Set(found?.days),
    ids: await withNewNames(transaction, names, new Map(Object.entries(found?.ids ?? {}))),
  };
}

/** Adds the missing names, in their order: two batches that add the same names wait for each other instead of ending in a deadlock. */
async function withNewNames(
  transaction: Transaction<Database>,
  names: readonly string[],
  ids: Map<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const missing = names.filter((name) => !ids.has(name)).toSorted();
  if (missing.length === 0) return ids;
  await sql`
    insert into ledger_names (name) select name from unnest(${missing}::text[]) as missing (name) order by 1
    on conflict (name) do nothing`.execute(transaction);
  const { rows } = await sql<{ name: string; id: number }>`
    select name, id from ledger_names where name = any(${missing}::text[])`.execute(transaction);
  for (const { name, id } of rows) ids.set(name, id);
  return ids;
}

const columns = [
  "opened_at",
  "cost_pico",
  "call_sequence",
  "turn_id",
  "workspace",
  "key",
  "boot",
  "instance",
  "door",
  "operation",
  "outcome",
  "model",
  "provider",
  "upstream_model",
  "service_tier",
  "task",
  "finish_reason",
  "call_status",
  "error_type",
  "provider_error",
  "guardrail",
  "rule",
  "duration_ms",
  "first_ms",
  "call_after_ms",
  "call_ms",
  "call_first_ms",
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "requests",
  "attempts",
  "attempt",
  "last_attempt",
  "http_status",
  "call_http_status",
  "streamed",
  "is_estimated",
  "is_requested_model",
  "generation_id",
  "request_id",
  "requested_model",
  "provider_code",
  '"user"',
  "session_id",
  "trace_id",
  "calls",
].join(", ");

/** Inserts the rows in their order, and releases the reservations of their calls. */
export async function insertRows(
  transaction: Transaction<Database>,
  whole: readonly WholeTurn[],
  ids: ReadonlyMap<string, number>,
): Promise<void> {
  const rows: LedgerRow[] = whole.map((each) => toLedgerRow(each, ids));
  const calls = whole.flatMap((each) => each.calls);
  await sql`${preparedAs("insert_ledger")}
    with released as (
      delete from budget_reservations as held
      using unnest(${calls.map(({ turn_id: id }) => id)}::uuid[], ${calls.map(({ attempt }) => attempt)}::smallint[]) as ended (turn_id, attempt)
      where held.turn_id = ended.turn_id and held.attempt = ended.attempt
    )
    insert into ledger (written, ${sql.raw(columns)})
    select pg_current_xact_id()::text::bigint + (select shift from ledger_progress), ${sql.raw(columns)}
    from json_populate_recordset(null::ledger, ${JSON.stringify(rows)}::json)`.execute(transaction);
}

/**
 * Takes turns out of the ledger because another part of them has arrived, and out of the sums that include them. Their rows stay, marked.
 * @returns their records, which the caller stores again
 */
export async function takeBack(
  transaction: Transaction<Database>,
  generationIds: readonly string[],
): Promise<UsageBatch> {
  // The lock keeps the worker from adding the rows to the sums meanwhile.
  await lockSums(transaction);
  await sql`select set_config('sluice.reads_ledger', 'on', true)`.execute(transaction);
  const taken = sql`written is not null and generation_id = any(${generationIds}::text[])`;
  const { rows: records } = await sql<NewUsageRecord>`select * from all_calls where ${taken}`.execute(transaction);
  const { rows: turns } = await sql<Omit<NewTurnRecord, "boot_id" | "sequence" | "instance" | "guardrail_action">>`
    select * from all_turns where ${taken}`.execute(transaction);
  await withdrawRows(transaction, taken);
  await sql`update ledger set is_moved = true where generation_id = any(${generationIds}::text[]) and not is_moved`.execute(
    transaction,
  );
  return {
    records,
    turns: turns.map((turn) => ({ ...turn, boot_id: noProcess, sequence: "0", instance: "", guardrail_action: null })),
  };
}

/** The start of the process that recorded a turn is not stored. */
const noProcess = "00000000-0000-0000-0000-000000000000";
