/**
 * Sums of records in a period, with filters, by up to two dimensions; for reports that stored sums cannot answer. Hours
 * and days are read from the usage cube if it has the dimensions. Of the remaining rows of the ledger, those with a
 * single call are summed in one pass for turns and calls; the few others are expanded to their calls.
 */
import type { SeriesDimension } from "@sluice/proto/contract/records/usage-series.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { type Cover, type Times, findCover, within } from "./cube-cover.ts";
import { cubeUnits } from "./cube-rows.ts";
import { numberOf } from "./names.ts";
import {
  answered,
  buckets,
  callsInRows,
  failed,
  hasFailed,
  hasOtherCalls,
  isAnswered,
  isSingle,
  latencies,
  spent,
} from "./row-figures.ts";
import {
  type SeriesFilter,
  callFilter,
  isByTurn,
  ledgerFilter,
  callValue,
  ledgerValue,
  turnFilter,
  turnValue,
} from "./series-filter.ts";
import { joinColumns, sumColumns } from "./usage-rollup.ts";

export interface RecordSums extends Times {
  readonly workspaceId: string;
  /** Length of the intervals into which the sums are divided; `all` means one sum for the period. */
  readonly step: "hour" | "day" | "all";
  /** At most two dimensions. */
  readonly by: readonly SeriesDimension[];
  readonly filter: SeriesFilter;
  /**
   * Counts all calls of a turn with the turn, whatever the dimensions. The period may then begin and end within an
   * hour.
   */
  readonly countsByTurn?: true;
  /** Values to sum separately; all other values are summed together, with null as value. */
  readonly picked?: readonly PickedValue[];
  /** Leaves out latencies, which take half of the query's time. */
  readonly withoutLatencies?: true;
}

/** A pair of values with their numbers in the ledger; `second` is empty when there is only one dimension. */
export interface PickedValue {
  readonly value: string;
  readonly second: string;
  /** Number of the first value; 0 for an empty text, -1 for a name that the ledger does not know. */
  readonly number_0: number;
  readonly number_1: number;
}

/** SQL for the number of a picked value. */
export const pickedNumber = (value: RawBuilder<unknown>): RawBuilder<number> => sql`
  case when ${value} = '' then 0 else coalesce((select id from ledger_names where name = ${value}), -1) end`;

const none = (figures: readonly string[]) => joinColumns(figures.map((figure) => `0 as ${figure}`));

/**
 * Runs statements with such sums. Postgres overestimates the number of groups and would sort all rows, so sorting is
 * disabled. All statements see the same snapshot, so the cube cannot change between them.
 */
export function withRecordSums<Result>(
  database: Kysely<Database>,
  work: (database: Kysely<Database>) => Promise<Result>,
): Promise<Result> {
  const run = async (transaction: Kysely<Database>): Promise<Result> => {
    await sql`set local enable_sort = off`.execute(transaction);
    return await work(transaction);
  };
  if (database.isTransaction) return run(database);
  return database.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(run);
}

/** Finds which parts of a query the cube answers; read it and the sums in one snapshot. */
export const coverOf = async (database: Kysely<Database>, query: RecordSums): Promise<Cover | undefined> =>
  isInCube(query) ? await findCover(database, { ...query, withCalls: !isOfTurns(query) }) : undefined;

/**
 * SQL for rows of `at`, `value`, `second` and the figures of `usage_sums`; several rows may have the same time and
 * values.
 */
export function recordSums(query: RecordSums, cover: Cover | undefined): RawBuilder<unknown> {
  const parts = [earlierTurns(query)];
  if (cover !== undefined) parts.push(cubePart(query, cover));
  parts.push(...rowsToRead(query, cover).map((condition) => ledgerPart(query, condition)));
  if (!isOfTurns(query)) parts.push(otherCalls(query, rowsToRead(around(query), cover)));
  return sql.join(parts, sql` union all `);
}

const isOfTurns = ({ by, filter, countsByTurn }: RecordSums): boolean => countsByTurn === true || isByTurn(by, filter);

function isInCube({ by, filter }: RecordSums): boolean {
  const filters = Object.entries(filter).filter(([, value]) => value !== undefined);
  return [...by, ...filters.map(([name]) => name)].every((name) => cubeUnits.has(name));
}

const dayMs = 86_400_000;

/** Extends a period by a day on both sides, because a call begins at most a day before or after its turn. */
const around = ({ from, to }: Times): Times => ({
  from: new Date(from.getTime() - dayMs),
  to: new Date(to.getTime() + dayMs),
});

const figures = joinColumns(["requests", "failures", ...spent, "first_events", "durations"]);
const bin = (step: RecordSums["step"], time: RawBuilder<unknown>) =>
  step === "all"
    ? sql`timestamptz 'epoch' as at`
    : sql`date_bin(${sql.lit(`1 ${step}`)}::interval, ${time}, 'epoch') as at`;
const where = (conditions: readonly RawBuilder<unknown>[]) => sql.join(conditions, sql` and `);

const inPeriod = ({ from, to }: Times) => [sql`opened_at >= ${from}`, sql`opened_at < ${to}`];
const inTimes = (times: readonly Times[]): RawBuilder<unknown> =>
  sql`(${sql.join(
    times.map((each) => where(inPeriod(each))),
    sql` or `,
  )})`;

/** Conditions that select the ledger rows of a period that are not in the cube; no row matches two of them. */
function rowsToRead(period: Times, cover: Cover | undefined): readonly RawBuilder<unknown>[] {
  if (cover === undefined) return [inTimes([period])];
  const [open, closed] = [within(cover.open, period), within(cover.closed, { ...period, from: cover.foldedUntil })];
  return [
    ...(open.length > 0 ? [inTimes(open)] : []),
    ...(closed.length > 0 ? [sql`written >= ${cover.folded}::bigint and ${inTimes(closed)}`] : []),
  ];
}

/** Sums the rows of a table or view by two values. */
function grouped(
  { step, by, picked }: RecordSums,
  valueIn: (dimension: SeriesDimension) => RawBuilder<unknown>,
  sums: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const valueOf = (place: number) => (by[place] === undefined ? sql`''` : valueIn(by[place]));
  const columns = picked
    ? sql`picked.value, picked.second`
    : sql`${valueOf(0)} collate "C" as value, ${valueOf(1)} collate "C" as second`;
  const isPicked = sql`(picked.value, picked.second) = (${valueOf(0)}, ${valueOf(1)})`;
  return sql`
    select ${bin(step, sql`opened_at`)}, ${columns}, ${sums}
    from ${from} ${picked ? sql`left join ${pickedRows(picked)} on ${isPicked}` : sql``} group by 1, 2, 3`;
}

/** SQL table of the picked values. It consists of constants because Postgres does not join subqueries in parallel. */
const pickedRows = (picked: readonly PickedValue[]): RawBuilder<unknown> => sql`
  unnest(${picked.map(({ value }) => value)}::text[], ${picked.map(({ second }) => second)}::text[],
    ${picked.map((each) => each.number_0)}::integer[], ${picked.map((each) => each.number_1)}::integer[]) as picked (value, second, number_0, number_1)`;

/** SQL for reading the two values from rows of the ledger or the cube. */
interface RowValues {
  readonly columns: readonly RawBuilder<unknown>[];
  readonly names: readonly RawBuilder<unknown>[];
  readonly joined: RawBuilder<unknown>;
  /** Texts of the two values, selected from a sum that has the columns `names`. */
  readonly shown: RawBuilder<unknown>;
}

function rowValues({ by, picked }: RecordSums): RowValues {
  if (picked) {
    const equals = by
      .map(ledgerValue)
      .map(({ column, isNumber }, place) =>
        isNumber
          ? sql`coalesce(${column}, 0) = ${sql.ref(`picked.number_${place}`)}`
          : sql`coalesce(${column}, '') = ${sql.ref(place === 0 ? "picked.value" : "picked.second")}`,
      );
    const names = [sql`value`, sql`second`];
    const columns = [sql`picked.value`, sql`picked.second`];
    return { columns, names, joined: sql`left join ${pickedRows(picked)} on ${where(equals)}`, shown: sql.join(names) };
  }
  const names = by.map((_, place) => sql.ref(`value_${place}`));
  const shownOf = (place: number) => {
    const [dimension, name] = [by[place], names[place]];
    if (dimension === undefined) return sql`''`;
    if (!ledgerValue(dimension).isNumber) return sql`coalesce(${name}, '')`;
    return sql`coalesce((select name from ledger_names where id = ${name}), '')`;
  };
  return {
    columns: by.map((dimension, place) => sql`${ledgerValue(dimension).column} as ${names[place]}`),
    names,
    joined: sql``,
    shown: sql`${shownOf(0)} collate "C" as value, ${shownOf(1)} collate "C" as second`,
  };
}

const latencyFigures = ["first_events", "durations"];
const noLatencies = joinColumns(latencyFigures.map((figure) => `0::numeric as ${figure}`));

const namedSums = ({ shown }: RowValues, sums: RawBuilder<unknown>) =>
  sql`select at, ${shown}, ${figures} from (${sums}) as sums`;

const columnOf = (figure: string) => (figure === "cost_usd" ? "cost_pico" : figure);
const spending = spent.map((figure) => sql`coalesce(sum(${sql.ref(columnOf(figure))}), 0) as ${sql.ref(figure)}`);
const spendingOf = (isCounted: RawBuilder<unknown>, column = (figure: string) => figure) =>
  spent.map((figure) => {
    const unit = sql.raw(figure === "cost_usd" ? " * 0.000000000001" : "");
    return sql`coalesce(sum(${sql.ref(column(figure))})${isCounted}, 0)${unit} as ${sql.ref(figure)}`;
  });

/**
 * Sums all turns of the ledger, and the calls summed with their turn: those of turns with a single call, or
 * all calls when the query counts by turn.
 */
function ledgerPart(query: RecordSums, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const { workspaceId, filter, step } = query;
  const conditions = [sql`workspace = ${numberOf(workspaceId)}`, sql`not is_moved`, condition, ...ledgerFilter(filter)];
  const values = rowValues(query);
  const groups = [sql`at`, ...values.names, sql`outcome`, sql`first_bucket`, sql`end_bucket`, sql`is_single`];
  const sums = spendingOf(isOfTurns(query) ? sql`` : sql` filter (where is_single)`);
  return namedSums(
    values,
    sql`
      select ${sql.join([sql`at`, ...values.names])}, sum(requests) as requests,
        coalesce(sum(requests) filter (where ${hasFailed}), 0) as failures, ${sql.join(sums)},
        ${query.withoutLatencies ? noLatencies : latencies(isAnswered)}
      from (
        select ${sql.join([bin(step, sql`opened_at`), ...values.columns])}, outcome, ${buckets}, ${isOfTurns(query) ? sql`true` : isSingle} as is_single,
          count(*) as turns, sum(requests) as requests, ${sql.join(spending)}
        from ledger ${values.joined} where ${where(conditions)}
        group by ${sql.join(groups)}
      ) as turns
      group by ${sql.join([sql`at`, ...values.names])}`,
  );
}

/** Sums of turns and calls from the hours and days of the cube. */
function cubePart(query: RecordSums, { days, hours }: Cover): RawBuilder<unknown> {
  const { workspaceId, filter, step, from, to } = query;
  const values = rowValues(query);
  const inList = (isDay: boolean, periods: readonly Date[]) =>
    periods.length === 0 ? [] : [sql`is_day = ${sql.lit(isDay)} and period = any(${periods}::timestamptz[])`];
  const conditions = [
    sql`workspace = ${numberOf(workspaceId)}`,
    sql`(${sql.join([...inList(true, days), ...inList(false, hours)], sql` or `)})`,
    sql`at >= ${from}`,
    sql`at < ${to}`,
    ...ledgerFilter(filter),
  ];
  const isCounted = isOfTurns(query) ? sql` filter (where by_turn)` : sql` filter (where by_call)`;
  const sums = spendingOf(isCounted, columnOf);
  return namedSums(
    values,
    sql`
      select ${sql.join([bin(step, sql`usage_cube.at`), ...values.columns])}, sum(requests) as requests,
        coalesce(sum(requests) filter (where ${hasFailed}), 0) as failures, ${sql.join(sums)},
        ${query.withoutLatencies ? noLatencies : sumColumns(latencyFigures)}
      from usage_cube ${values.joined} where ${where(conditions)}
      group by ${sql.join([sql`1`, ...values.names])}`,
  );
}

/** Sums of turns outside of the ledger. */
function earlierTurns(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, filter } = query;
  const conditions = [sql`workspace_id = ${workspaceId}`, ...inPeriod(query), ...turnFilter(filter)];
  const sumsOfCalls = isOfTurns(query) ? sumColumns(spent) : none(spent);
  const columns = sql`*, 1 as turns, ${buckets}`;
  const sums = sql`sum(requests) as requests, coalesce(sum(requests) filter (where outcome in (${failed})), 0) as failures, ${sumsOfCalls},
    ${latencies(sql`outcome in (${answered})`)}`;
  return grouped(query, turnValue, sums, sql`(select ${columns} from turns where ${where(conditions)}) as earlier`);
}

/**
 * Sums of calls outside of the ledger, and of calls not summed with their turn: of turns with several calls,
 * or with a call in another hour. @param rows conditions on rows of the ledger
 */
function otherCalls(query: RecordSums, rows: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  const { workspaceId, filter } = query;
  const conditions = [...inPeriod(query), sql`payer = 'key'`, ...callFilter(filter)];
  const sums = joinColumns([
    "0 as requests",
    "0 as failures",
    "count(*) as attempts",
    ...spent.slice(1).map((column) => `coalesce(sum(${column}), 0) as ${column}`),
    "0 as first_events",
    "0 as durations",
  ]);
  const columns = joinColumns(callColumns);
  const listed = rows.map(
    (condition) => sql`
    union all
    select ${columns} from (${listedCalls(query, condition)}) as calls where ${where(conditions)}`,
  );
  const calls = sql`(
    select ${columns} from usage_records where ${where([sql`workspace_id = ${workspaceId}`, ...conditions])}
    ${sql.join(listed, sql``)}
  ) as calls`;
  return grouped(query, callValue, sums, calls);
}

const callColumns = [
  "opened_at",
  "key_hash",
  "model",
  "provider",
  '"user"',
  "session_id",
  "door",
  "operation",
  "task",
  "payer",
  ...spent.slice(1),
];

/** Calls not summed with their turn, with the columns of `usage_records`. */
function listedCalls(
  { workspaceId, filter: { key, user, session } }: RecordSums,
  condition: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const conditions = [
    sql`workspace = ${numberOf(workspaceId)}`,
    sql`not is_moved`,
    condition,
    hasOtherCalls,
    ...ledgerFilter({ key, user, session }),
  ];
  return sql`
    select call.*, (select name from ledger_names where id = key) as key_hash, case when has_user then "user" end as "user",
      case when has_session then session_id end as session_id
    from ${callsInRows(["key", "user", "session_id"], where(conditions))}`;
}
