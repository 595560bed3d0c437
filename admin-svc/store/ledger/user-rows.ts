/**
 * SQL for sums of end users over ledger rows. Turns with a single call are read in one pass, by numbers of names and
 * buckets of latencies; other calls are read from the column `calls` instead of through the views.
 */
import { type RawBuilder, sql } from "kysely";
import {
  callsInRows,
  hasFailed,
  hasOtherCalls,
  isAnswered,
  isSingle,
  latencies,
  spent,
  summedBuckets,
  tokenFigures,
} from "./row-figures.ts";
import { joinColumns, sumFigures } from "./usage-rollup.ts";

const hourOf = (time: RawBuilder<unknown>) => sql`date_bin('1 hour', ${time}, 'epoch')`;
const orZero = (columns: readonly string[]) =>
  joinColumns(columns.map((column) => `coalesce(sum(${column}), 0) as ${column}`));
const ofSingle = joinColumns(
  spent.map((figure) =>
    figure === "cost_usd"
      ? "coalesce(sum(cost_pico) filter (where is_single), 0) * 0.000000000001 as cost_usd"
      : `coalesce(sum(${figure}) filter (where is_single), 0) as ${figure}`,
  ),
);

/**
 * SQL for sums by hour, with the columns of `hourSums`; an end user may have several rows for an hour.
 * @param where a condition on rows of the ledger
 * @param rows table or expression named `ledger`
 */
export const userHours = (
  where: RawBuilder<unknown>,
  rows: RawBuilder<unknown> = sql`ledger`,
): RawBuilder<unknown> => sql`
  select n_workspace.identifier as workspace_id, 'user' as dimension, at, value collate "C" as value, ${joinColumns(sumFigures)}
  from (
    select workspace, at, value, sum(requests) as requests, coalesce(sum(requests) filter (where ${hasFailed}), 0) as failures, ${ofSingle},
      ${latencies(isAnswered)}
    from (
      select workspace, ${hourOf(sql`opened_at`)} as at, coalesce("user", '') as value, outcome, ${summedBuckets}, ${isSingle} as is_single,
        count(*) as turns, ${orZero(["requests", "attempts", "cost_pico", ...tokenFigures])}
      from ${rows} where ${where} and not is_moved
      group by 1, 2, 3, outcome, first_bucket, end_bucket, is_single
    ) as turns
    group by 1, 2, 3
    union all
    select workspace, ${hourOf(sql`call.opened_at`)}, case when has_user then coalesce("user", '') else '' end, 0, 0, count(*),
      coalesce(sum(cost_usd), 0), ${orZero(tokenFigures)}, 0, 0
    from ${callsInRows(["workspace", "user"], sql`${where} and not is_moved and ${hasOtherCalls}`, rows)} where payer = 'key'
    group by 1, 2, 3
  ) as sums join ledger_names as n_workspace on n_workspace.id = workspace`;
