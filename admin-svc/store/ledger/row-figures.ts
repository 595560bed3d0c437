/**
 * SQL for figures of ledger rows in sums over many rows. Postgres runs a query in parallel only if every function in it
 * allows that; the functions of the schema do not, so their bodies are repeated here.
 */
import { type RawBuilder, sql } from "kysely";

/** Columns with figures of calls. */
export const spent = ["attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];
export const tokenFigures = spent.slice(2);

const startsInHour = sql`date_bin('1 hour', opened_at + call_after_ms * interval '1 ms', 'epoch') = date_bin('1 hour', opened_at, 'epoch')`;
/** Same condition as the SQL function `is_single_call`. */
export const isSingle = sql`calls is null and (call_after_ms is null or ${startsInHour})`;
/**
 * Negation of `isSingle`. It is written with `=`, which Postgres takes for rare, as it is; a condition with `not` it
 * would take for frequent.
 */
export const hasOtherCalls = sql`(calls is not null or case when ${startsInHour} then 0 when call_after_ms is not null then 1 end = 1)`;

/** Same bucket as the SQL function `latency_bucket`. */
const bucketOf = (ms: RawBuilder<unknown>) =>
  sql`case when ${ms} is not null then ceil(4 * ln(greatest(${ms}, 1)) / ln(2)) end`;
/** Buckets as in stored sums, where the SQL function `latency_count` counts a missing time as the shortest. */
export const summedBuckets = sql`coalesce(${bucketOf(sql`first_ms`)}, 0) as first_bucket, ${bucketOf(sql`duration_ms`)} as end_bucket`;
export const buckets = sql`${bucketOf(sql`first_ms`)} as first_bucket, ${bucketOf(sql`duration_ms`)} as end_bucket`;

/** Same sum as the SQL function `latency_count` gives for turns whose latencies are in one bucket. */
const countIn = (bucket: RawBuilder<unknown>, isAnswered: RawBuilder<unknown>) =>
  sql`coalesce(sum(turns * ('1e' || (12 * ${bucket})::text)::numeric) filter (where ${isAnswered}), 0)`;
/**
 * Sums of latencies as `usage_sums` has them: numbers with hundreds of digits. They are computed once for all turns
 * with the same buckets.
 */
export const latencies = (isAnswered: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${countIn(sql`first_bucket`, isAnswered)} as first_events, ${countIn(sql`end_bucket`, isAnswered)} as durations`;

/** HTTP statuses with which a provider refuses the request itself, which is no failure of the provider. */
export const requestRefusals = sql`(400, 413, 422)`;

const numbersOf = (names: RawBuilder<unknown>) => sql`any(array(select id from ledger_names where name in (${names})))`;
/** Outcomes that count as failed, and as answered. */
export const failed = sql`'failed', 'lost', 'refused'`;
export const answered = sql`'completed', 'incomplete'`;
/** Conditions on the number of a turn's outcome. */
export const hasFailed = sql`outcome = ${numbersOf(failed)}`;
export const isAnswered = sql`outcome = ${numbersOf(answered)}`;

/** Columns of a call containing numbers of names. */
export const namedCallColumns = ["model", "provider", "door", "operation", "task"];

/** Fields of an entry in the column `calls` of the ledger. */
const listedFields = sql`opened_at timestamptz, model text, provider text, door text, operation text, task text, payer text, cost_usd numeric(24, 12),
  input_tokens bigint, cached_tokens bigint, output_tokens bigint, reasoning_tokens bigint, has_user boolean, has_session boolean`;

/**
 * SQL for calls of turns with several calls, or with a call in another hour than the turn. The view `all_calls` has
 * them too, but this reads each row once. A call begins at most a day before or after its turn.
 * @param columns selected columns of the ledger, available as `rows`; the fields of a call are available as `call`
 * @param where a condition on rows of the ledger, which must include `hasOtherCalls`
 * @param source table or expression named `ledger`
 */
export function callsInRows(
  columns: readonly string[],
  where: RawBuilder<unknown>,
  source: RawBuilder<unknown> = sql`ledger`,
): RawBuilder<unknown> {
  const name = (column: string) =>
    sql`${sql.lit(column)}, (select name from ledger_names where id = ledger.${sql.ref(column)})`;
  const tokens = tokenFigures.map((column) => sql`${sql.lit(column)}, ${sql.ref(column)}`);
  const only = sql`jsonb_build_array(jsonb_build_object(
    'opened_at', opened_at + call_after_ms * interval '1 ms', ${sql.join(namedCallColumns.map(name))},
    'payer', 'key', 'cost_usd', cost_pico * 0.000000000001, ${sql.join(tokens)}, 'has_user', true, 'has_session', true))`;
  return sql`
    (select ${sql.join(columns.map((column) => sql.ref(column)))}, coalesce(calls, ${only}) as calls from ${source} where ${where}) as rows
      cross join lateral jsonb_to_recordset(calls) as call (${listedFields})`;
}
