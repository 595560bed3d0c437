/**
 * Usage over time: stored sums answer queries for one dimension without filter; other queries read the usage cube and
 * the records.
 */
import type { SeriesDimension, SeriesStep } from "@sluice/proto/contract/records/usage-series.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import type { Cover } from "./cube-cover.ts";
import { type PickedValue, type RecordSums, coverOf, pickedNumber, recordSums, withRecordSums } from "./record-sums.ts";
import { type CountedRow, type SeriesRow, isUsed, keyName, storedSeries, withPercentiles } from "./series.ts";
import { type SeriesFilter, isFiltered } from "./series-filter.ts";
import { type Dimension, dimensions, joinColumns, sumColumns, sumFigures, textFigures } from "./usage-rollup.ts";

export interface SeriesQuery {
  readonly workspaceId: string;
  readonly step: SeriesStep;
  /** At most two dimensions; an empty list sums everything together. */
  readonly by: readonly SeriesDimension[];
  readonly filter: SeriesFilter;
  /** Start of the period, included; the beginning of a step in UTC. */
  readonly from: Date;
  /** End of the series; a call at this time is not included. */
  readonly to: Date;
  /** Number of values, or pairs of values, that are listed separately; those with the highest cost. */
  readonly limit: number;
}

/**
 * Computes a series. Rows are sorted by time, then by the value's cost over the whole period; rows of the whole period
 * come last, as do rows of all values not listed separately.
 */
export function usageSeries(database: Kysely<Database>, query: SeriesQuery): Promise<readonly SeriesRow[]> {
  const [by] = query.by;
  const isStored = query.by.length < 2 && !isFiltered(query.filter) && (by === undefined || isDimension(by));
  return isStored
    ? storedSeries(database, { ...query, by })
    : withRecordSums(database, (connected) => recordSeries(connected, query));
}

const isDimension = (unit: SeriesDimension): unit is Dimension => (dimensions as readonly string[]).includes(unit);

async function recordSeries(database: Kysely<Database>, query: SeriesQuery): Promise<readonly SeriesRow[]> {
  const { step, by } = query;
  const sums: RecordSums = { ...query, step: step === "hour" ? "hour" : "day" };
  const cover = await coverOf(database, sums);
  // First read which values are listed, then only their sums: sums of every value at every time would be too many rows.
  // The cube is read twice, but the ledger once.
  const picked = cover && by.length > 0 ? await pickValues(database, query, cover) : undefined;
  const records = recordSums({ ...sums, ...(picked && { picked }) }, cover);
  const { rows } = await sql<CountedRow>`
    with found as materialized (
      select date_trunc(${step}, at, 'UTC') as at, value, second, ${sumColumns(sumFigures)}
      from (${records}) as parts group by 1, 2, 3 having ${isUsed}
    ),
    picked as materialized (
      select value, second, place from (${byCost(sql`found`, query)}) as picked where value is not null
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

/** SQL for the values to list separately. @param found a table or expression with figures by value */
const byCost = (found: RawBuilder<unknown>, { limit }: SeriesQuery): RawBuilder<unknown> => sql`
  select value, second, row_number() over (order by value is null, sum(cost_usd) desc, sum(requests) desc, value, second) as place
  from ${found} as found group by 1, 2 having ${isUsed} order by place limit ${limit}`;

async function pickValues(
  database: Kysely<Database>,
  query: SeriesQuery,
  cover: Cover,
): Promise<readonly PickedValue[]> {
  const records = recordSums({ ...query, step: "all", withoutLatencies: true }, cover);
  const { rows } = await sql<PickedValue>`
    select value, second, ${pickedNumber(sql`value`)} as number_0, ${pickedNumber(sql`second`)} as number_1
    from (${byCost(sql`(${records})`, query)}) as picked`.execute(database);
  return rows;
}
