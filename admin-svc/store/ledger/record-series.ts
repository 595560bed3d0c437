/** Sums of usage over time: from the stored sums for one dimension without a filter, and from the records for anything else. */
import type { SeriesStep, SeriesDimension } from "@sluice/proto/contract/records/usage-series.js";
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";
import { recordSums, withRecordSums } from "./record-sums.ts";
import { type CountedRow, type SeriesRow, isUsed, keyName, storedSeries, withPercentiles } from "./series.ts";
import { type SeriesFilter, isFiltered } from "./series-filter.ts";
import { type Dimension, dimensions, joinColumns, sumColumns, sumFigures, textFigures } from "./usage-rollup.ts";

export interface SeriesQuery {
  readonly workspaceId: string;
  readonly step: SeriesStep;
  /** At most two dimensions; none sums everything together. */
  readonly by: readonly SeriesDimension[];
  readonly filter: SeriesFilter;
  /** Beginning of a step in UTC, included. */
  readonly from: Date;
  /** End of the series; a call at this time is not included. */
  readonly to: Date;
  /** Number of values or pairs of values listed separately, by cost. */
  readonly limit: number;
}

/** Sorted by time, then by cost over the whole period; the whole period comes last, and so do all values not listed separately. */
export function usageSeries(database: Kysely<Database>, query: SeriesQuery): Promise<readonly SeriesRow[]> {
  const [by] = query.by;
  const isStored = query.by.length < 2 && !isFiltered(query.filter) && (by === undefined || isDimension(by));
  return isStored
    ? storedSeries(database, { ...query, by })
    : withRecordSums(database, (connected) => recordSeries(connected, query));
}

const isDimension = (unit: SeriesDimension): unit is Dimension => (dimensions as readonly string[]).includes(unit);

async function recordSeries(database: Kysely<Database>, query: SeriesQuery): Promise<readonly SeriesRow[]> {
  const { step, by, limit } = query;
  const records = await recordSums(database, { ...query, step: step === "hour" ? "hour" : "day" });
  const { rows } = await sql<CountedRow>`
    with found as materialized (
      select date_trunc(${step}, at, 'UTC') as at, value, second, ${sumColumns(sumFigures)}
      from (${records}) as parts group by 1, 2, 3 having ${isUsed}
    ),
    picked as materialized (
      select value, second, row_number() over (order by sum(cost_usd) desc, sum(requests) desc, value, second) as place
      from found group by 1, 2 order by place limit ${limit}
    ),
    placed as materialized (select * from found left join picked using (value, second)),
    rows as (
      select at, value, second, place, ${joinColumns(sumFigures)} from placed where place is not null
      union all
      select null, value, second, min(place), ${sumColumns(sumFigures)} from placed where place is not null group by value, second
      union all
      select at, null, null, null, ${sumColumns(textFigures)}, 0, 0 from placed where place is null group by grouping sets ((at), ()) having count(*) > 0
    )
    select at, value, second, ${joinColumns(sumFigures)}, ${keyName(by[0], sql`value`)} as name, ${keyName(by[1], sql`second`)} as second_name
    from rows order by at nulls last, place nulls last`.execute(database);
  return rows.map(withPercentiles);
}
