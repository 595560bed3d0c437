/**
 * Sums of the records of a period, chosen by filters, for values of up to two dimensions: for reports that no stored sums answer. Hours and days of the
 * cube are read there if it has the dimensions. Other rows of the ledger with a single call are summed by the numbers in their columns, in one pass for turns
 * and calls; the few others are read through the views.
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
  /** Size of the times by which is summed; the whole period at once for `all`. */
  readonly step: "hour" | "day" | "all";
  /** At most two. */
  readonly by: readonly SeriesDimension[];
  readonly filter: SeriesFilter;
  /** Whether all calls of a turn count as its own, in any case. Otherwise the period begins and ends with an hour. */
  readonly countsByTurn?: true;
  /** Sums all other values together, with null for each. */
  readonly picked?: readonly PickedValue[];
  /** Leaves out latencies, which take half of the time. */
  readonly withoutLatencies?: true;
}

/** A value of each dimension, with its number in the ledger; of the second, an empty text with one dimension. */
export interface PickedValue {
  readonly value: string;
  readonly second: string;
  /** 0 for an empty text, and -1 for a name that the ledger does not have. */
  readonly number_0: number;
  readonly number_1: number;
}

/** The number of a picked value. */
export const pickedNumber = (value: RawBuilder<unknown>): RawBuilder<number> => sql`
  case when ${value} = '' then 0 else coalesce((select id from ledger_names where name = ${value}), -1) end`;

const none = (figures: readonly string[]) => joinColumns(figures.map((figure) => `0 as ${figure}`));

/**
 * Runs a statement with such sums. Postgres estimates the number of times by that of turns, and would sort all of these instead of keeping a sum for each group.
 * All of its statements see the same snapshot, so the cube cannot change between them.
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

/** The part of a query that the cube answers; the caller reads it and the sums in one snapshot. */
export const coverOf = async (database: Kysely<Database>, query: RecordSums): Promise<Cover | undefined> =>
  isInCube(query) ? await findCover(database, { ...query, withCalls: !isOfTurns(query) }) : undefined;

/** Rows of `at`, `value`, `second` and the figures of `usage_sums`; several may have the same time and values. */
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

/** A call is within a day of its turn. */
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

/** Conditions on rows of the ledger of a period that are not in the cube; no row meets two of them. */
function rowsToRead(period: Times, cover: Cover | undefined): readonly RawBuilder<unknown>[] {
  if (cover === undefined) return [inTimes([period])];
  const [open, closed] = [within(cover.open, period), within(cover.closed, { ...period, from: cover.foldedUntil })];
  return [
    ...(open.length > 0 ? [inTimes(open)] : []),
    ...(closed.length > 0 ? [sql`written >= ${cover.folded}::bigint and ${inTimes(closed)}`] : []),
  ];
}

/** Sums of a table or view by two values. */
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

/** Constants, because Postgres joins no subqueries with several processes. */
const pickedRows = (picked: readonly PickedValue[]): RawBuilder<unknown> => sql`
  unnest(${picked.map(({ value }) => value)}::text[], ${picked.map(({ second }) => second)}::text[],
    ${picked.map((each) => each.number_0)}::integer[], ${picked.map((each) => each.number_1)}::integer[]) as picked (value, second, number_0, number_1)`;

/** The values of rows of the ledger or the cube as columns, and joined picked values. */
interface RowValues {
  readonly columns: readonly RawBuilder<unknown>[];
  readonly names: readonly RawBuilder<unknown>[];
  readonly joined: RawBuilder<unknown>;
  /** Names of the two values, of a sum by the names of the columns. */
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

/** All turns of the ledger, and the calls of those with a single one; where all calls count as their turn's, those of all. */
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

/** Turns and calls of hours and days of the cube. */
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

/** Turns outside of the ledger. */
function earlierTurns(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, filter } = query;
  const conditions = [sql`workspace_id = ${workspaceId}`, ...inPeriod(query), ...turnFilter(filter)];
  const sumsOfCalls = isOfTurns(query) ? sumColumns(spent) : none(spent);
  const columns = sql`*, 1 as turns, ${buckets}`;
  const sums = sql`sum(requests) as requests, coalesce(sum(requests) filter (where outcome in (${failed})), 0) as failures, ${sumsOfCalls},
    ${latencies(sql`outcome in (${answered})`)}`;
  return grouped(query, turnValue, sums, sql`(select ${columns} from turns where ${where(conditions)}) as earlier`);
}

/** Calls outside of the ledger, and those of its rows with several, or with one in another hour than the turn. @param rows conditions on rows of the ledger */
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

/** Calls of rows of the ledger, with the columns of `usage_records`. */
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
