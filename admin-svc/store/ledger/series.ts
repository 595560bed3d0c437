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

const figures = [
  "requests",
  "failures",
  "attempts",
  "cost_usd",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
];
const sums = sql.raw(figures.map((column) => `sum(${column}) as ${column}`).join(", "));

/** The bucket in which the share of all is reached. */
const percentile = (share: string, figure: "first" | "duration") =>
  sql.raw(`min(bucket) filter (where ${figure}_until >= ${share} * ${figure}_all and ${figure}_all > 0)`);

/**
 * In the order of time, the whole period last, and of cost over the whole period; what is not listed apart comes last. The whole period is at
 * infinity until the end, because times that may be null are joined row by row.
 */
export async function usageSeries(database: Kysely<Database>, query: SeriesQuery): Promise<readonly SeriesRow[]> {
  const by = query.by ?? "all";
  const within = sql`
    workspace_id = ${query.workspaceId} and dimension = ${by} and step = ${query.step} and at >= ${query.from} and at < ${query.to}`;
  const { rows } = await sql<SeriesRow>`
    with found as materialized (select at, value, ${sql.raw(figures.join(", "))} from usage_sums where ${within}),
    picked as materialized (
      select value, row_number() over (order by sum(cost_usd) desc, sum(requests) desc, value) as place
      from found group by value having sum(requests) <> 0 or sum(attempts) <> 0
      order by place limit ${query.limit}
    ),
    points as materialized (
      select at, picked.value, min(place) as place, ${sums} from found left join picked using (value) group by 1, 2
    ),
    sums as (
      select * from points where requests <> 0 or attempts <> 0
      union all
      select 'infinity', value, min(place), ${sums} from points group by value having sum(requests) <> 0 or sum(attempts) <> 0
    ),
    buckets as materialized (
      select at, value, bucket, first_events, turns from usage_latencies where ${within} and value in (select value from picked)
    ),
    latencies as (
      select at, value, ${percentile("0.5", "first")} as first_p50, ${percentile("0.95", "first")} as first_p95,
        ${percentile("0.5", "duration")} as duration_p50, ${percentile("0.95", "duration")} as duration_p95
      from (
        select at, value, bucket,
          sum(first_events) over (of_point order by bucket) as first_until, sum(first_events) over of_point as first_all,
          sum(turns) over (of_point order by bucket) as duration_until, sum(turns) over of_point as duration_all
        from (
          select * from buckets
          union all
          select 'infinity', value, bucket, sum(first_events), sum(turns) from buckets group by value, bucket
        ) as counted window of_point as (partition by at, value)
      ) as reached group by at, value
    )
    select nullif(sums.at, 'infinity') as at, sums.value, ${sql.raw(figures.join(", "))},
      first_p50, first_p95, duration_p50, duration_p95,
      case when ${by} = 'key' then (select name from api_keys where hash = sums.value) end as name
    from sums left join latencies on latencies.at = sums.at and latencies.value = sums.value
    order by sums.at, place nulls last`.execute(database);
  return rows;
}

/** Middle of a bucket in milliseconds: at most 9 % (2^(1/8)) from any latency in it. */
export const latencyIn = (bucket: number): number => 2 ** ((bucket - 0.5) / 4);
