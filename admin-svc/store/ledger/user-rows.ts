/**
 * Rows of the ledger whose end users are in the sums. These follow the other sums later: adding most end users with each batch would write nearly as many rows as
 * there are turns. Rows that an earlier build has added are in the sums by hour and by day.
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

export const isFolded = sql`written < (select folded from ledger_progress)`;
export const summedUntil = sql`(select summed_until from user_sums_progress)`;
export const notAddedEarlier = sql`not exists (
  select from user_sums_spans as span where written >= span.since and written < span.until
)`;

/** Rows in all sums but those of end users. @param time the column with the beginning of the turn */
export const isWaiting = (time: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${isFolded} and ${time} >= ${summedUntil} and ${notAddedEarlier}`;

/** Rows in the sums of end users only by day. Turns without an end user are in the sums by hour as well. */
export const isOnlyByDay = (time: RawBuilder<unknown>, workspaceId: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`${isFolded} and ${time} < ${summedUntil} and ${notAddedEarlier} and "user" is not null and not ${hasHours(time, workspaceId)}`;

/** Whether the end user of a row is summed by hour on the day of the turn. */
export const hasHours = (
  time: RawBuilder<unknown>,
  workspaceId: RawBuilder<unknown>,
): RawBuilder<unknown> => sql`exists (
  select from user_hours as kept (owner, kept_day, name, is_kept)
  where is_kept and owner = ${workspaceId} and kept_day = date_bin('1 day', ${time}, 'epoch') and name = "user"
)`;

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
 * Sums of end users by hour, with the columns of `hourSums`; an end user may have several rows for an hour. Turns with their single calls are read in one pass.
 * @param where a condition on rows of the ledger
 */
export const userHours = (where: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select n_workspace.identifier as workspace_id, 'user' as dimension, at, value collate "C" as value, ${joinColumns(sumFigures)}
  from (
    select workspace, at, value, sum(requests) as requests, coalesce(sum(requests) filter (where ${hasFailed}), 0) as failures, ${ofSingle},
      ${latencies(isAnswered)}
    from (
      select workspace, ${hourOf(sql`opened_at`)} as at, coalesce("user", '') as value, outcome, ${summedBuckets}, ${isSingle} as is_single,
        count(*) as turns, ${orZero(["requests", "attempts", "cost_pico", ...tokenFigures])}
      from ledger where ${where} and not is_moved
      group by 1, 2, 3, outcome, first_bucket, end_bucket, is_single
    ) as turns
    group by 1, 2, 3
    union all
    select workspace, ${hourOf(sql`call.opened_at`)}, case when has_user then coalesce("user", '') else '' end, 0, 0, count(*),
      coalesce(sum(cost_usd), 0), ${orZero(tokenFigures)}, 0, 0
    from ${callsInRows(["workspace", "user"], sql`${where} and not is_moved and ${hasOtherCalls}`)} where payer = 'key'
    group by 1, 2, 3
  ) as sums join ledger_names as n_workspace on n_workspace.id = workspace`;
