/** Usage over time from stored sums by hour and day, and from changes that these do not include yet. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { SeriesStep } from "@sluice/proto/contract/records/usage-series.js";
import type { Database } from "../database.ts";
import { numberOf } from "./names.ts";
import { ledgerHours } from "./row-sums.ts";
import { isUnfolded, unsummedRows } from "./sums-progress.ts";
import { type Percentiles, findPercentiles } from "./percentiles.ts";
import {
  type Dimension,
  hourSums,
  joinColumns,
  textFigures,
  sumColumns,
  sumFigures,
  totalDimension,
} from "./usage-rollup.ts";
import { userHours } from "./user-rows.ts";

export interface StoredSeriesQuery {
  readonly workspaceId: string;
  readonly step: SeriesStep;
  /** Dimension whose values are reported; undefined sums everything together. */
  readonly by: Dimension | undefined;
  /** Start of the period, included; the beginning of a step in UTC. */
  readonly from: Date;
  /** End of the series; a call at this time is not included. */
  readonly to: Date;
  /** Number of values listed separately; those with the highest cost. */
  readonly limit: number;
}

/**
 * Figures of one value at one time. A null time means the whole period, a null value all values not listed separately.
 */
export interface SeriesRow {
  readonly at: Date | null;
  readonly value: string | null;
  /** Name of the key, when the value is a key. */
  readonly name: string | null;
  /** Value of the second dimension; null with one dimension, and whenever `value` is null. */
  readonly second: string | null;
  readonly second_name: string | null;
  readonly requests: string;
  readonly failures: string;
  readonly attempts: string;
  readonly cost_usd: string;
  readonly input_tokens: string;
  readonly cached_tokens: string;
  readonly output_tokens: string;
  readonly reasoning_tokens: string;
  /** Latencies to the first event; undefined when no turn was answered, and for values not listed separately. */
  readonly first: Percentiles | undefined;
  readonly duration: Percentiles | undefined;
}

/** A row with its counts of latencies, before percentiles are computed. */
export type CountedRow = Omit<SeriesRow, "first" | "duration"> & {
  readonly first_events: string;
  readonly durations: string;
};

/** A time range that is read from sums of one step; `to` is not included. */
interface Span {
  readonly step: "hour" | "day";
  readonly from: Date;
  readonly to: Date;
}

const dayMs = 86_400_000;

/** Divides a period into whole days, and hours at its beginning and end, so the fewest sums are read. */
function coveringSpans({ from, to }: Pick<StoredSeriesQuery, "from" | "to">): readonly Span[] {
  const firstDay = new Date(Math.ceil(from.getTime() / dayMs) * dayMs);
  const lastDay = new Date(Math.floor(to.getTime() / dayMs) * dayMs);
  if (firstDay >= lastDay) return [{ step: "hour", from, to }];
  const spans: readonly Span[] = [
    { step: "day", from: firstDay, to: lastDay },
    { step: "hour", from, to: firstDay },
    { step: "hour", from: lastDay, to },
  ];
  return spans.filter((span) => span.from < span.to);
}

/** SQL condition on groups of rows that have requests or calls. */
export const isUsed = sql.raw("sum(requests) <> 0 or sum(attempts) <> 0");

/**
 * Reads a series. Rows are sorted by time, then by the value's cost over the whole period; rows of the whole period
 * come last, as do rows of all values not listed separately. Values are chosen by sums of whole days, and only their
 * rows are read; the remainder is computed from the totals. So no query reads every value of every hour.
 */
export async function storedSeries(
  database: Kysely<Database>,
  query: StoredSeriesQuery,
): Promise<readonly SeriesRow[]> {
  const { workspaceId, step, from, to } = query;
  const by = query.by ?? "all";
  const whole = totalDimension(query.by);
  const storedStep = step === "hour" ? "hour" : "day";
  const summed = (dimension: string, figures: readonly string[], spans: readonly Span[]) => {
    const columns = joinColumns(["at", "value", ...figures]);
    const parts = spans.map(
      (span) => sql`
        select ${inSteps(step)} as at, ${joinColumns(["value", ...figures])} from usage_sums
        where workspace_id = ${workspaceId} and dimension = ${dimension} and step = ${span.step} and at >= ${span.from} and at < ${span.to}`,
    );
    return sql`${sql.join(parts, sql` union all `)}
      union all select ${columns} from fresh where dimension = ${dimension}`;
  };
  const { rows } = await sql<CountedRow>`
    with fresh as materialized (${freshSums(query)}),
    picked as materialized (
      select value, row_number() over (order by sum(cost_usd) desc, sum(requests) desc, value) as place
      from (${summed(by, ["requests", "attempts", "cost_usd"], coveringSpans(query))}) as found
      group by value having ${isUsed}
      order by place limit ${query.limit}
    ),
    points as materialized (
      select at, value, min(place) as place, ${sumColumns(sumFigures)}
      from (
        select ${inSteps(step)} as at, value, place, ${joinColumns(sumFigures)}
        from picked cross join generate_series(${from}::timestamptz, ${to}::timestamptz - ${`1 ${storedStep}`}::interval, ${`1 ${storedStep}`}::interval) as times (at)
          join usage_sums as sums using (at, value)
        where workspace_id = ${workspaceId} and dimension = ${by} and step = ${storedStep}
        union all
        select at, value, place, ${joinColumns(sumFigures)} from fresh join picked using (value) where dimension = ${by}
      ) as found group by 1, 2 having ${isUsed}
    ),
    others as materialized (
      select at, ${sumColumns(textFigures)}
      from (
        select at, ${joinColumns(textFigures)} from (${summed(whole, textFigures, [{ step: storedStep, from, to }])}) as found
        union all
        select at, ${joinColumns(textFigures.map((figure) => `-${figure}`))} from points
      ) as found group by 1 having ${isUsed}
    ),
    rows as (
      select at, value, place, ${joinColumns(sumFigures)} from points
      union all select null, value, min(place), ${sumColumns(sumFigures)} from points group by value
      union all select at, null, null, ${joinColumns(textFigures)}, 0, 0 from others
      union all select null, null, null, ${sumColumns(textFigures)}, 0, 0 from others having ${isUsed}
    )
    select at, value, ${joinColumns(sumFigures)}, ${keyName(query.by, sql`value`)} as name, null as second, null as second_name
    from rows order by at nulls last, place nulls last`.execute(database);
  return rows.map(withPercentiles);
}

/** SQL for the beginning of the step containing an hour or a day. */
const inSteps = (step: SeriesStep): RawBuilder<unknown> =>
  step === "hour" || step === "day" ? sql`at` : sql`date_trunc(${step}, at, 'UTC')`;

/** SQL for the name of the key in a column; null for other dimensions. */
export const keyName = (unit: string | undefined, column: RawBuilder<unknown>): RawBuilder<unknown> =>
  unit === "key" ? sql`(select name from api_keys where hash = ${column})` : sql`null`;

export const withPercentiles = ({ first_events: first, durations, ...row }: CountedRow): SeriesRow => ({
  ...row,
  first: findPercentiles(first),
  duration: findPercentiles(durations),
});

/** SQL for pending changes of the period, by the step of the series. */
function freshSums({ workspaceId, step, by, from, to }: StoredSeriesQuery): RawBuilder<unknown> {
  const wanted = by === undefined ? [] : [by];
  const changed = sql`(select * from usage_changes where workspace_id = ${workspaceId})`;
  const pending = [
    hourSums(changed, wanted),
    ledgerHours({ written: isUnfolded, workspaceId }, by === "user" ? [] : wanted),
  ];
  if (by === "user") pending.push(unsummedUsers(workspaceId));
  return sql`
    select dimension, date_trunc(${step}, at, 'UTC') as at, value, ${sumColumns(sumFigures)}
    from (${sql.join(pending, sql` union all `)}) as hours
    where at >= ${from} and at < ${to} group by 1, 2, 3`;
}

/** SQL for rows that the sums of end users lack: those that all sums lack, and those waiting for end users only. */
const unsummedUsers = (workspaceId: string): RawBuilder<unknown> =>
  userHours(sql`workspace = ${numberOf(workspaceId)}`, unsummedRows);
