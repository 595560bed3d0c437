/** Reads and writes rows of the ledger for a batch of records. */
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

/** Records of a batch that the database already has. */
export interface Stored {
  /** Sequence numbers of stored turn records, by the boot id of their process. */
  readonly delivered: ReadonlyMap<string, DeliveredNumbers>;
  /** Ids of turns stored outside of the ledger. */
  readonly apart: ReadonlySet<string>;
  /** Names of the calls of turns in the ledger (see `nameOfCall`), by the id of the turn. */
  readonly calls: ReadonlyMap<string, ReadonlySet<string>>;
  /** Days that have a partition, as numbers since 1970. */
  readonly days: ReadonlySet<number>;
  /** Time in milliseconds since 1970 from which retention has removed nothing. */
  readonly keptFrom: number;
  /** Numbers of names in `ledger_names`. */
  readonly ids: ReadonlyMap<string, number>;
}

export const nameOfCall = ({ turn_id: turnId, attempt }: Pick<NewUsageRecord, "turn_id" | "attempt">): string =>
  `${turnId} ${attempt}`;

export interface Sought {
  readonly bootIds: readonly string[];
  readonly generationIds: readonly string[];
  readonly names: readonly string[];
  /** Times of the earliest and latest record of the batch; parts of a turn begin within a day. */
  readonly from: Date;
  readonly to: Date;
}

/** SQL for the time from which retention has removed nothing; null when it never removed anything. */
export const keptFromMs = sql<number | null>`
  select (extract(epoch from nullif(kept_from, '-infinity')::timestamp at time zone 'UTC') * 1000)::float8 as from
  from ledger_retention`;

/**
 * Finds what the database already has of a batch. The caller must hold the locks of the processes, so all their
 * earlier batches are visible. The ledger only takes turns of today and yesterday.
 *
 * Each turn is searched by its id alone, behind `offset 0`: in a plain join, a plan made for an empty partition would
 * scan the whole partition with each batch.
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

/**
 * Adds missing names in alphabetical order: two batches that add the same names then wait for each other instead of
 * deadlocking.
 */
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

/** Tag accounts named by reservations, by the names of their calls (see `nameOfCall`). */
export type HeldAccounts = ReadonlyMap<string, RecordedTags>;

/**
 * Inserts rows in their order, and releases the reservations of their calls. Postgres reads one array per column in
 * half the time of JSON.
 * @returns tag accounts of the released reservations
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

/** Columns of the views that identify a turn in the ledger together with its calls. */
interface Row {
  readonly generation_id: string;
  readonly key_hash: string;
  readonly written: string;
}

const nameOfRow = ({ generation_id: id, key_hash: key, written }: Row): string => `${key} ${written} ${id}`;

/**
 * Takes turns out of the ledger, and out of the sums, because another part of them has arrived. Their rows stay, marked
 * as moved.
 * @returns their records, which the caller stores outside of the ledger
 */
export async function takeBack(
  transaction: Transaction<Database>,
  generationIds: readonly string[],
): Promise<UsageBatch> {
  // The lock prevents the worker from adding the rows to the sums meanwhile.
  await lockSums(transaction);
  await sql`select set_config('sluice.reads_ledger', 'on', true)`.execute(transaction);
  const taken = sql`written is not null and generation_id = any(${generationIds}::text[])`;
  const { rows: calls } = await sql<NewUsageRecord & Row>`select * from all_calls where ${taken}`.execute(transaction);
  const { rows: turns } = await sql<
    Omit<NewTurnRecord, "boot_id" | "sequence" | "instance" | "guardrail_action"> & Row
  >`select * from all_turns where ${taken}`.execute(transaction);
  // The ledger stores tags per turn, so calls get the tags of their turn.
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

/** Placeholder: the ledger does not store which process start recorded a turn. */
const noProcess = "00000000-0000-0000-0000-000000000000";
