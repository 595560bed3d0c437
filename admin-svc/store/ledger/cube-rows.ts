/**
 * SQL for rows of the usage cube: sums of ledger rows for every combination of the cube's dimensions, by the hour in
 * which their turns began.
 */
import type { SeriesUnit } from "@sluice/proto/contract/records/usage-series.js";
import { type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import {
  buckets,
  callsInRows,
  hasOtherCalls,
  isAnswered,
  isSingle,
  latencies,
  namedCallColumns,
  tokenFigures,
} from "./row-figures.ts";
import { joinColumns, sumColumns } from "./usage-rollup.ts";

/** Columns by which the cube sums, named as in the ledger. Reports by any other dimension read the ledger. */
const dimensions = [
  "workspace",
  "key",
  "door",
  "operation",
  "outcome",
  "model",
  "provider",
  "task",
  "guardrail",
  "error_type",
  "provider_error",
  "http_status",
];

/** Dimensions and filters of reports that the cube can answer. */
export const cubeUnits: ReadonlySet<string> = new Set<SeriesUnit>([
  "key",
  "model",
  "provider",
  "status",
  "guardrail",
  "door",
  "operation",
  "task",
  "error",
]);

const figures = ["requests", "attempts", "cost_pico", ...tokenFigures, "first_events", "durations"];
const grouping = ["period", "at", ...dimensions, "by_turn", "by_call"];
/** Columns of the cube except `is_day`. */
export const cubeColumns: RawBuilder<unknown> = joinColumns([...grouping, ...figures]);

/**
 * Sums hourly rows by the day of their turns. Calls on another day than their turn keep their hour, because a reported
 * period may end within that day.
 */
export const daysOfRows = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select day as period, case when date_bin('1 day', at, 'epoch') = day then day else at end as at,
    ${joinColumns([...dimensions, "by_turn", "by_call"])}, ${sumColumns(figures)}
  from (select *, date_bin('1 day', period, 'epoch') as day from ${rows} as hours) as rows
  group by ${joinColumns(["day", "2", ...dimensions, "by_turn", "by_call"])}`;

/** Merges rows with equal dimensions. */
export const mergedRows = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select ${joinColumns(grouping)}, ${sumColumns(figures)} from ${rows} as rows group by ${joinColumns(grouping)}`;

const hourOf = (time: RawBuilder<unknown>) => sql`date_bin('1 hour', ${time}, 'epoch')`;
const orZero = (columns: readonly string[]) =>
  joinColumns(columns.map((column) => `coalesce(sum(${column}), 0) as ${column}`));

/** Sums of turns, with the spending of all their calls. */
const turnRows = (where: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select period, period as at, ${joinColumns(dimensions)}, true as by_turn, by_call, ${sumColumns(figures.slice(0, -2))}, ${latencies(isAnswered)}
  from (
    select ${hourOf(sql`opened_at`)} as period, ${joinColumns(dimensions)}, ${isSingle} as by_call, ${buckets}, count(*) as turns,
      ${orZero(figures.slice(0, -2))}
    from ledger where ${where}
    group by ${joinColumns(["period", ...dimensions, "by_call", "first_bucket", "end_bucket"])}
  ) as turns
  group by ${joinColumns(["period", ...dimensions, "by_call"])}`;

const callsOf = (where: RawBuilder<unknown>) =>
  callsInRows(["opened_at", "workspace", "key"], sql`${where} and ${hasOtherCalls}`);

/**
 * Sums of calls not summed with their turn: calls of a turn with several calls, or in another hour than the
 * turn.
 */
function callRows(where: RawBuilder<unknown>): RawBuilder<unknown> {
  const valueOf = (column: string): string => {
    if (column === "workspace" || column === "key") return `rows.${column}`;
    return namedCallColumns.includes(column) ? `n_${column}.id` : "null::integer";
  };
  const values = dimensions.map((column) => `${valueOf(column)} as ${column}`);
  const names = namedCallColumns.map(
    (column) => `left join ledger_names as n_${column} on n_${column}.name = call.${column}`,
  );
  return sql`
    select period, at, ${joinColumns(dimensions)}, false as by_turn, true as by_call, 0 as requests, count(*) as attempts,
      (coalesce(sum(cost_usd), 0) * 1000000000000)::numeric(40, 0) as cost_pico, ${orZero(tokenFigures)}, 0 as first_events, 0 as durations
    from (
      select ${hourOf(sql`rows.opened_at`)} as period, ${hourOf(sql`call.opened_at`)} as at, ${joinColumns(values)}, cost_usd,
        ${joinColumns(tokenFigures)}
      from ${callsOf(where)} ${sql.raw(names.join(" "))} where payer = 'key'
    ) as calls
    group by ${joinColumns(["period", "at", ...dimensions])}`;
}

/** Cube rows by hour. @param where a condition on rows of the ledger */
export const rowsOfHours = (where: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${turnRows(where)} union all ${callRows(where)}`;

/**
 * Adds the names of calls in the column `calls` to `ledger_names`: that column has texts, but the cube needs numbers.
 */
export async function nameCalls(transaction: Transaction<Database>, where: RawBuilder<unknown>): Promise<void> {
  const values = namedCallColumns.map((column) => `(call.${column})`);
  await sql`
    insert into ledger_names (name)
    select distinct word from ${callsOf(where)} cross join lateral (values ${joinColumns(values)}) as words (word)
    where word is not null and not exists (select from ledger_names where name = word) order by 1
    on conflict (name) do nothing`.execute(transaction);
}
