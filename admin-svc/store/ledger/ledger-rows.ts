/** Reads and writes of rows of the ledger, for a batch of records. */
import { type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { type DeliveredNumbers, parseDelivered } from "./delivered-numbers.ts";
import type { RecordedTags } from "../tables/usage.ts";
import { lockSums } from "./sums-progress.ts";
import type { NewTurnRecord } from "./turn-record.ts";
import type { NewUsageRecord, UsageBatch } from "./usage-batch.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { withdrawRows } from "./ledger-sums.ts";
import { arrayOfColumn, ledgerColumns, typeOfColumn } from "./ledger-columns.ts";
import type { WholeTurn } from "./whole-turn.ts";

/** The stored rows that concern a batch. */
export interface Stored {
  /** Numbers of the records of turns, by start of a process. */
  readonly delivered: ReadonlyMap<string, DeliveredNumbers>;
  /** Ids of turns outside of the ledger. */
  readonly apart: ReadonlySet<string>;
  /** Names of the calls of turns in the ledger, as `nameOfCall` gives them, by the id of the turn. */
  readonly calls: ReadonlyMap<string, ReadonlySet<string>>;
  /** Days with a partition, counted from 1970. */
  readonly days: ReadonlySet<number>;
  /** Time from which retention has removed nothing, in milliseconds. */
  readonly keptFrom: number;
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

/** The time from which retention has removed nothing; null before it has removed anything. */
export const keptFromMs = sql<number | null>`
  select (extract(epoch from nullif(kept_from, '-infinity')::timestamp at time zone 'UTC') * 1000)::float8 as from
  from ledger_retention`;

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
    delivered: Readonly<Record<string, readonly [last: string, missing: string]>> | null;
    apart: readonly string[];
    whole: readonly { readonly id: string; readonly calls: readonly string[] }[] | null;
    days: readonly number[];
    kept_from: number | null;
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
      (select json_object_agg(boot_id, json_build_array(last_sequence::text, missing::text)) from turn_deliveries where boot_id = any(${bootIds}::uuid[])) as delivered,
      array(
        select sought.id from unnest(${generationIds}::text[]) as sought (id) cross join lateral (
          select from turns where generation_id = sought.id offset 0
        ) as found
      ) as apart,
      (select json_agg(recent) from recent) as whole,
      array(select day - date '1970-01-01' from ledger_days where day >= (now() at time zone 'UTC')::date - 1) as days,
      (${keptFromMs}) as kept_from,
      (select json_object_agg(name, id) from ledger_names where name = any(${names}::text[])) as ids`.execute(
    transaction,
  );
  const [found] = rows;
  return {
    delivered: new Map(
      Object.entries(found?.delivered ?? {}).map(([boot, numbers]) => [boot, parseDelivered(...numbers)]),
    ),
    apart: new Set(found?.apart),
    calls: new Map((found?.whole ?? []).map(({ id, calls }) => [id, new Set(calls)])),
    days: new Set(found?.days),
    keptFrom: found?.kept_from ?? Number.NEGATIVE_INFINITY,
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

const columns = Object.values(ledgerColumns);
const columnList = sql.join(Object.keys(ledgerColumns).map((column) => sql.ref(column)));

/** Accounts of tags that reservations named, by the names of their calls as `nameOfCall` gives them. */
export type HeldAccounts = ReadonlyMap<string, RecordedTags>;

/**
 * Inserts the rows in their order, and releases the reservations of their calls. An array for each column takes Postgres half as long to read as JSON.
 * @returns accounts of the released reservations for tags
 */
export async function insertRows(
  transaction: Transaction<Database>,
  whole: readonly WholeTurn[],
  ids: ReadonlyMap<string, number>,
): Promise<HeldAccounts> {
  const arrays = columns.map((column) => sql`${arrayOfColumn(column, whole, ids)}::${sql.raw(typeOfColumn(column))}[]`);
  const calls = whole.flatMap((each) => each.calls);
  const [turnIds, attempts] = [calls.map(({ record }) => record.turn_id), calls.map(({ record }) => record.attempt)];
  const { rows } = await sql<{ turn_id: string; attempt: number; tags: RecordedTags }>`${preparedAs("insert_ledger")}
    with released as (
      delete from budget_reservations as held
      using unnest(${turnIds}::uuid[], ${attempts}::smallint[]) as ended (turn_id, attempt)
      where held.turn_id = ended.turn_id and held.attempt = ended.attempt
      returning held.turn_id, held.attempt, held.tags
    ),
    inserted as (
      insert into ledger (written, ${columnList})
      select pg_current_xact_id()::text::bigint + (select shift from ledger_progress), rows.* from unnest(${sql.join(arrays)}) as rows
    )
    select turn_id, attempt, tags from released where tags is not null`.execute(transaction);
  return new Map(rows.map((row) => [nameOfCall(row), row.tags]));
}

/** Columns of the views by which the calls of a turn in the ledger are found. */
interface Row {
  readonly generation_id: string;
  readonly key_hash: string;
  readonly written: string;
}

const nameOfRow = ({ generation_id: id, key_hash: key, written }: Row): string => `${key} ${written} ${id}`;

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
  const { rows: calls } = await sql<NewUsageRecord & Row>`select * from all_calls where ${taken}`.execute(transaction);
  const { rows: turns } = await sql<
    Omit<NewTurnRecord, "boot_id" | "sequence" | "instance" | "guardrail_action"> & Row
  >`select * from all_turns where ${taken}`.execute(transaction);
  // The ledger has the tags of a call at its turn.
  const tags = new Map(turns.map((turn) => [nameOfRow(turn), turn.tags]));
  const records = calls.map((call) => ({ ...call, tags: tags.get(nameOfRow(call)) ?? null }));
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
