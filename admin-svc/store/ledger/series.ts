/** Sums of usage over time, from the sums by hour and day. */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";
import type { Dimension } from "./usage-rollup.ts";

export interface SeriesQuery {
  readonly workspaceId: string;
  readonly step: "hour" | "day";
  /** Undefined sums everything together. */
  readonly by: Dimension | undefined;
  /** Beginning of an hour or a day in UTC, included. */
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
  /** Number of values that are listed apart, by cost. */
  readonly limit: number;
}

/** Figures of one value at one time; null times are of the whole period, and null values of all that are not listed apart. */
export interface SeriesRow {
  readonly at: Date | null;
  readonly value: string | null;
  /** Name of a key. */
  readonly name: string | null;
  readonly requests: string;
  readonly failures: string;
  readonly attempts: string;
  readonly cost_usd: string;
  readonly input_tokens: string;
  readonly cached_tokens: string;
  readonly output_tokens: string;
  readonly reasoning_tokens: string;
  /** Numbers of buckets; null where no turn was answered. */
  readonly first_p50: number | null;
  readonly first_p95: number | null;
  readonly duration_p50: number | null;
  readonly duration_p95: number | null;
}

const figures = sql.raw(
  ["requests", "failures", "attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"]
    .map((column) => `sum(${column}) as ${column}`)
    .join(", "),
);

/** The bucket in which the share of all is reached. */
const percentile = (share: string, figure: "first" | "duration") =>
  sql`min(bucket) filter (where ${sql.ref(`${figure}_until`)} >= ${sql.raw(share)} * ${sql.ref(`${figure}_all`)} and ${sql.ref(`${figure}_all`)} > 0)`;

/** In the order of time, the whole period last, and of cost over the whole period; what is not listed apart comes last. */
export async function usageSeries(database: Kysely<Database>, query: SeriesQuery): Promise<readonly SeriesRow[]> {
  const within = sql`
    workspace_id = ${query.workspaceId} and dimension = ${query.by ?? "all"} and step = ${query.step}
    and at >= ${query.from} and at < ${query.to}`;
  const { rows } = await sql<SeriesRow>`
    with picked as (
      select value, row_number() over (order by sum(cost_usd) desc, sum(requests) desc, value) as place
      from usage_sums where ${within} group by value having sum(requests) <> 0 or sum(attempts) <> 0
      order by place limit ${query.limit}
    ),
    sums as (
      select at, picked.value, min(place) as place, ${figures}
      from usage_sums left join picked using (value) where ${within}
      group by grouping sets ((at, picked.value), (picked.value))
      having sum(requests) <> 0 or sum(attempts) <> 0
    ),
    buckets as (
      select at, value, bucket, sum(first_events) as first_events, sum(turns) as turns
      from usage_latencies join picked using (value) where ${within}
      group by grouping sets ((at, value, bucket), (value, bucket))
    ),
    reached as (
      select at, value, bucket,
        sum(first_events) over (of_point order by bucket) as first_until, sum(first_events) over of_point as first_all,
        sum(turns) over (of_point order by bucket) as duration_until, sum(turns) over of_point as duration_all
      from buckets window of_point as (partition by at, value)
    ),
    latencies as (
      select at, value, ${percentile("0.5", "first")} as first_p50, ${percentile("0.95", "first")} as first_p95,
        ${percentile("0.5", "duration")} as duration_p50, ${percentile("0.95", "duration")} as duration_p95
      from reached group by at, value
    )
    select sums.*, latencies.first_p50, latencies.first_p95, latencies.duration_p50, latencies.duration_p95,
      case when ${query.by ?? "all"} = 'key' then (select name from api_keys where hash = sums.value) end as name
    from sums left join latencies on latencies.value = sums.value and latencies.at is not distinct from sums.at
    order by at nulls last, place nulls last`.execute(database);
  return rows;
}

/** Middle of a bucket in milliseconds: at most 9 % (2^(1/8)) from any latency in it. */
export const latencyIn = (bucket: number): number => 2 ** ((bucket - 0.5) / 4);
