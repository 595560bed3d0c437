/**
 * Sums of the records of a period, chosen by filters, for values of up to two dimensions: for reports that no stored sums answer. Rows of the ledger with a
 * single call are summed by the numbers in their columns, in one pass for turns and calls; the few others are read through the views.
 */
import type { SeriesUnit } from "@sluice/proto/contract/records/usage-series.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { numberOf } from "./names.ts";
import {
  type SeriesFilter,
  callFilter,
  isByTurn,
  ledgerFilter,
  ledgerNumbers,
  ledgerTexts,
  recordValues,
  turnFilter,
  turnValues,
} from "./series-filter.ts";
import { joinColumns, sumColumns } from "./usage-rollup.ts";

export interface RecordSums {
  readonly workspaceId: string;
  /** Size of the times by which is summed. */
  readonly step: "hour" | "day";
  /** At most two. */
  readonly by: readonly SeriesUnit[];
  readonly filter: SeriesFilter;
  /** Whether all calls of a turn count as its own, in any case. */
  readonly countsByTurn?: true;
  /** Included. */
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
}

/** Figures of calls. */
const spent = ["attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];

const none = (figures: readonly string[]) => joinColumns(figures.map((figure) => `0 as ${figure}`));

/**
 * Runs a statement with such sums. Postgres estimates the number of times by that of turns, and would sort all of these instead of keeping a sum for each group.
 */
export function withRecordSums<Result>(
  database: Kysely<Database>,
  work: (database: Kysely<Database>) => Promise<Result>,
): Promise<Result> {
  const run = async (transaction: Kysely<Database>): Promise<Result> => {
    await sql`set local enable_sort = off`.execute(transaction);
    return await work(transaction);
  };
  return database.isTransaction ? run(database) : database.transaction().execute(run);
}

/** Rows of `at`, `value`, `second` and the figures of `usage_sums`; several may have the same time and values. */
export function recordSums(query: RecordSums): RawBuilder<unknown> {
  const parts = [ledgerPart(query), earlierTurns(query)];
  if (!isOfTurns(query)) parts.push(otherCalls(query));
  return sql.join(parts, sql` union all `);
}

const isOfTurns = ({ by, filter, countsByTurn }: RecordSums): boolean => countsByTurn === true || isByTurn(by, filter);

const figures = joinColumns(["requests", "failures", ...spent, "first_events", "durations"]);
const bin = (step: "hour" | "day") => sql`date_bin(${sql.lit(`1 ${step}`)}::interval, opened_at, 'epoch') as at`;
const where = (conditions: readonly RawBuilder<unknown>[]) => sql.join(conditions, sql` and `);

const inPeriod = ({ from, to }: RecordSums) => [sql`opened_at >= ${from}`, sql`opened_at < ${to}`];

/** Sums of a table or view by two values. */
const grouped = (
  { step, by }: RecordSums,
  values: Readonly<Record<SeriesUnit, RawBuilder<unknown>>>,
  sums: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
): RawBuilder<unknown> => {
  const valueOf = (place: number) => (by[place] === undefined ? sql`''` : values[by[place]]);
  return sql`
    select ${bin(step)}, ${valueOf(0)} collate "C" as value, ${valueOf(1)} collate "C" as second, ${sums}
    from ${from} group by 1, 2, 3`;
};

/*
 * Postgres reads with several processes only where every function of a statement allows it, and those of the schema do not: what they do is written out here.
 */

const startsInHour = sql`date_bin('1 hour', opened_at + call_after_ms * interval '1 ms', 'epoch') = date_bin('1 hour', opened_at, 'epoch')`;
/** The condition of the SQL function `is_single_call`. */
const isSingle = sql`calls is null and (call_after_ms is null or ${startsInHour})`;
/** The bucket of the SQL function `latency_bucket`. */
const bucketOf = (ms: RawBuilder<unknown>) =>
  sql`case when ${ms} is not null then ceil(4 * ln(greatest(${ms}, 1)) / ln(2)) end`;
/** The sum of the SQL function `latency_count` over turns with latencies of one bucket. */
const countIn = (bucket: RawBuilder<unknown>, isAnswered: RawBuilder<unknown>) =>
  sql`coalesce(sum(turns * ('1e' || (12 * ${bucket})::text)::numeric) filter (where ${isAnswered}), 0)`;
const numbersOf = (names: RawBuilder<unknown>) => sql`any(array(select id from ledger_names where name in (${names})))`;
const failed = sql`'failed', 'lost', 'refused'`;
const answered = sql`'completed', 'incomplete'`;
/** Numbers of hundreds of digits, as `usage_sums` has them, are only made of the counts of turns with the same buckets. */
const latencies = (isAnswered: RawBuilder<unknown>) =>
  sql`${countIn(sql`first_bucket`, isAnswered)} as first_events, ${countIn(sql`end_bucket`, isAnswered)} as durations`;

/** All turns of the ledger, and the calls of those with a single one; where all calls count as their turn's, those of all. */
function ledgerPart(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, by, filter } = query;
  const callsOf = isOfTurns(query) ? sql`` : sql` filter (where is_single)`;
  const columns = by.map((unit, place) => {
    const column = ledgerNumbers[unit] ?? ledgerTexts[unit] ?? sql`null`;
    return sql`${column} as ${sql.ref(`value_${place}`)}`;
  });
  const conditions = [
    sql`workspace = ${numberOf(workspaceId)}`,
    sql`not is_moved`,
    ...inPeriod(query),
    ...ledgerFilter(filter),
  ];
  const nameOf = (place: number) => {
    const unit = by[place];
    const column = sql.ref(`value_${place}`);
    if (unit === undefined) return sql`''`;
    if (ledgerNumbers[unit] === undefined) return sql`coalesce(${column}, '')`;
    return sql`coalesce((select name from ledger_names where id = ${column}), '')`;
  };
  const spending = spent.map((figure) => {
    const column = figure === "cost_usd" ? "cost_pico" : figure;
    return sql`coalesce(sum(${sql.ref(column)}), 0) as ${sql.ref(figure)}`;
  });
  const sums = spent.map((figure) => {
    const unit = sql.raw(figure === "cost_usd" ? " * 0.000000000001" : "");
    return sql`coalesce(sum(${sql.ref(figure)})${callsOf}, 0)${unit} as ${sql.ref(figure)}`;
  });
  const values = by.map((_, place) => sql.ref(`value_${place}`));
  const groups = [sql`at`, ...values, sql`outcome`, sql`first_bucket`, sql`end_bucket`, sql`is_single`];
  return sql`
    select at, ${nameOf(0)} collate "C" as value, ${nameOf(1)} collate "C" as second, ${figures}
    from (
      select ${sql.join([sql`at`, ...values])}, sum(requests) as requests,
        coalesce(sum(requests) filter (where outcome = ${numbersOf(failed)}), 0) as failures, ${sql.join(sums)},
        ${latencies(sql`outcome = ${numbersOf(answered)}`)}
      from (
        select ${sql.join([bin(query.step), ...columns])}, outcome, ${buckets}, ${isOfTurns(query) ? sql`true` : isSingle} as is_single,
          count(*) as turns, sum(requests) as requests, ${sql.join(spending)}
        from ledger where ${where(conditions)}
        group by ${sql.join(groups)}
      ) as turns
      group by ${sql.join([sql`at`, ...values])}
    ) as sums`;
}

const buckets = sql`${bucketOf(sql`first_ms`)} as first_bucket, ${bucketOf(sql`duration_ms`)} as end_bucket`;

/** Turns outside of the ledger. */
function earlierTurns(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, filter } = query;
  const conditions = [sql`workspace_id = ${workspaceId}`, ...inPeriod(query), ...turnFilter(filter)];
  const spending = isOfTurns(query) ? sumColumns(spent) : none(spent);
  const columns = sql`*, 1 as turns, ${buckets}`;
  const sums = sql`sum(requests) as requests, coalesce(sum(requests) filter (where outcome in (${failed})), 0) as failures, ${spending},
    ${latencies(sql`outcome in (${answered})`)}`;
  return grouped(query, turnValues, sums, sql`(select ${columns} from turns where ${where(conditions)}) as earlier`);
}

const dayMs = 86_400_000;

/** Calls outside of the ledger, and those of turns with several, or in another hour than their turn. */
function otherCalls(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, filter } = query;
  const conditions = [...inPeriod(query), sql`payer = 'key'`, ...callFilter(filter)];
  const spending = joinColumns([
    "0 as requests",
    "0 as failures",
    "count(*) as attempts",
    ...spent.slice(1).map((column) => `coalesce(sum(${column}), 0) as ${column}`),
    "0 as first_events",
    "0 as durations",
  ]);
  const columns = joinColumns(callColumns);
  const calls = sql`(
    select ${columns} from usage_records where ${where([sql`workspace_id = ${workspaceId}`, ...conditions])}
    union all
    select ${columns} from (${callsInRows(query)}) as calls where ${where(conditions)}
  ) as calls`;
  return grouped(query, recordValues, spending, calls);
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
/** Fields of a call in the column `calls` of the ledger. */
const listedFields = sql`opened_at timestamptz, model text, provider text, door text, operation text, task text, payer text, cost_usd numeric(24, 12),
  input_tokens bigint, cached_tokens bigint, output_tokens bigint, reasoning_tokens bigint, has_user boolean, has_session boolean`;

/** Calls of rows of the ledger, as the view `all_calls` has them, but read in one pass. A call is within a day of its turn. */
function callsInRows({ workspaceId, filter: { key, user, session }, from, to }: RecordSums): RawBuilder<unknown> {
  const conditions = [
    sql`workspace = ${numberOf(workspaceId)}`,
    sql`not is_moved`,
    sql`opened_at >= ${new Date(from.getTime() - dayMs)}`,
    sql`opened_at < ${new Date(to.getTime() + dayMs)}`,
    // Postgres takes an expression that equals a value for rare, and would take its negation for frequent.
    sql`(calls is not null or case when ${startsInHour} then 0 when call_after_ms is not null then 1 end = 1)`,
    ...ledgerFilter({ key, user, session }),
  ];
  const name = (column: string) =>
    sql`${sql.lit(column)}, (select name from ledger_names where id = ledger.${sql.ref(column)})`;
  const tokens = spent.slice(2).map((column) => sql`${sql.lit(column)}, ${sql.ref(column)}`);
  const only = sql`jsonb_build_array(jsonb_build_object(
    'opened_at', opened_at + call_after_ms * interval '1 ms', ${sql.join(["model", "provider", "door", "operation", "task"].map(name))},
    'payer', 'key', 'cost_usd', cost_pico * 0.000000000001, ${sql.join(tokens)}, 'has_user', true, 'has_session', true))`;
  return sql`
    select call.*, (select name from ledger_names where id = key) as key_hash, case when has_user then "user" end as "user",
      case when has_session then session_id end as session_id
    from (select key, "user", session_id, coalesce(calls, ${only}) as calls from ledger where ${where(conditions)}) as rows
      cross join lateral jsonb_to_recordset(calls) as call (${listedFields})`;
}
