/** Rows of the cube: sums of rows of the ledger for every combination of the cube's dimensions, by the hour of their turns. */
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

/** Columns by which the cube sums, with the names and values of the ledger. Another dimension of series is read from the ledger. */
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

/** Dimensions and filters that these columns answer. */
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
/** Columns of rows of the cube but for `is_day`. */
export const cubeColumns: RawBuilder<unknown> = joinColumns([...grouping, ...figures]);

/** Sums of these rows by the day of their turns. Calls of another day keep their hour, since a period may end there. */
export const daysOfRows = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select day as period, case when date_bin('1 day', at, 'epoch') = day then day else at end as at,
    ${joinColumns([...dimensions, "by_turn", "by_call"])}, ${sumColumns(figures)}
  from (select *, date_bin('1 day', period, 'epoch') as day from ${rows} as hours) as rows
  group by ${joinColumns(["day", "2", ...dimensions, "by_turn", "by_call"])}`;

/** Fewer rows with the same sums. */
export const mergedRows = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select ${joinColumns(grouping)}, ${sumColumns(figures)} from ${rows} as rows group by ${joinColumns(grouping)}`;

const hourOf = (time: RawBuilder<unknown>) => sql`date_bin('1 hour', ${time}, 'epoch')`;
const orZero = (columns: readonly string[]) =>
  joinColumns(columns.map((column) => `coalesce(sum(${column}), 0) as ${column}`));

/** Turns, with the spending of their calls. */
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

/** Calls with their own figures, in addition to those of their turn. */
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

/** Rows by hour. @param where a condition on rows of the ledger */
export const rowsOfHours = (where: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${turnRows(where)} union all ${callRows(where)}`;

/** Gives numbers to the words of calls in `calls`, which has texts. */
export async function nameCalls(transaction: Transaction<Database>, where: RawBuilder<unknown>): Promise<void> {
  const values = namedCallColumns.map((column) => `(call.${column})`);
  await sql`
    insert into ledger_names (name)
    select distinct word from ${callsOf(where)} cross join lateral (values ${joinColumns(values)}) as words (word)
    where word is not null and not exists (select from ledger_names where name = word) order by 1
    on conflict (name) do nothing`.execute(transaction);
}
