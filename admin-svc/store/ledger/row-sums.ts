/**
 * SQL for sums of ledger rows. Nearly all rows have a single call and are summed by the numbers in their columns; names
 * are looked up only for the sums. Through the views, each row would look up nine names and be read twice. The few
 * other rows are read through the views.
 */
import { type RawBuilder, sql } from "kysely";
import type { Tag } from "@sluice/proto/lib/turns/tags.js";
import { callActivity } from "./activity-changes.ts";
import { hasTags } from "./generations.ts";
import { numberOf } from "./names.ts";
import { hasOtherCalls } from "./row-figures.ts";
import { type Dimension, callChanges, hourSums, joinColumns, sumColumns, turnChanges } from "./usage-rollup.ts";

/** Selection of rows. */
export interface LedgerRows {
  /** Condition on `written`, which excludes rows stored before the ledger existed. */
  readonly written: RawBuilder<unknown>;
  readonly workspaceId?: string;
  readonly keyHash?: string | undefined;
  readonly tagged?: TaggedTurns;
}

/** Restricts sums to turns that have all of the tags. */
interface TaggedTurns {
  readonly tags: readonly Tag[];
  /** Builds a condition on the start of a turn in the given column. */
  readonly inPeriod: (openedAt: RawBuilder<unknown>) => RawBuilder<unknown>;
}

const isTagged = ({ tags, inPeriod }: TaggedTurns): RawBuilder<unknown> =>
  sql`${inPeriod(sql`opened_at`)} and ${hasTags(tags)}`;

/** SQL condition for rows of the views. */
const inViews = ({ written, workspaceId, keyHash, tagged }: LedgerRows): RawBuilder<unknown> => {
  const conditions = [written, sql`not is_single`];
  if (workspaceId !== undefined) conditions.push(sql`workspace_id = ${workspaceId}`);
  if (keyHash !== undefined) conditions.push(sql`key_hash = ${keyHash}`);
  // The view of calls has no tags, which belong to the turn.
  if (tagged !== undefined) {
    const turns = sql`select generation_id from ledger where not is_moved and ${hasOtherCalls} and ${isTagged(tagged)}`;
    conditions.push(tagged.inPeriod(sql`near`), sql`generation_id in (${turns})`);
  }
  return sql.join(conditions, sql` and `);
};

/** SQL condition for rows of the table `ledger` with a single call. */
const inTable = ({ written, workspaceId, keyHash, tagged }: LedgerRows): RawBuilder<unknown> => {
  const conditions = [written, sql`not is_moved`, sql`is_single_call(calls, opened_at, call_after_ms)`];
  if (workspaceId !== undefined) conditions.push(sql`workspace = ${numberOf(workspaceId)}`);
  if (keyHash !== undefined) conditions.push(sql`key = ${numberOf(keyHash)}`);
  if (tagged !== undefined) conditions.push(isTagged(tagged));
  return sql.join(conditions, sql` and `);
};

/** SQL for rows of `usage_changes`. @param where must exclude rows without `written` */
export const ledgerChanges = (where: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  ${callChanges(sql`(select * from all_calls where ${where})`)} union all ${turnChanges(sql`(select * from all_turns where ${where})`)}`;

/** SQL for sums by hour with the columns of `hourSums`; a dimension may have several rows for an hour and value. */
export const ledgerHours = (rows: LedgerRows, wanted: readonly Dimension[]): RawBuilder<unknown> => sql`
  ${hourSums(sql`(${ledgerChanges(inViews(rows))})`, wanted)} union all ${singleHours(rows, wanted)}`;

/**
 * Columns of `ledger` with the values of dimensions. Any other dimension has a column of its own name, which contains
 * numbers of names.
 */
const valueColumns: Readonly<Partial<Record<Dimension, string>>> = { user: '"user"', status: "http_status" };
const columnOf = (dimension: Dimension): string => valueColumns[dimension] ?? dimension;
const isNamed = (dimension: Dimension): boolean => valueColumns[dimension] === undefined;

/** Sums by hour of rows with a single call. Turn and call have the same figures, so one pass gives the sums of both. */
function singleHours(rows: LedgerRows, wanted: readonly Dimension[]): RawBuilder<unknown> {
  const groups = ["()", ...wanted.map((each) => `(${columnOf(each)})`)];
  const dimensions = wanted.map((each) => `when grouping(${columnOf(each)}) = 0 then array['${each}']`);
  const firstOf = (chosen: readonly Dimension[], type: string): RawBuilder<unknown> =>
    sql.raw(`coalesce(${[...chosen.map((each) => `${columnOf(each)}::${type}`), `null::${type}`].join(", ")})`);
  const texts = wanted.filter((each) => !isNamed(each));
  const totals = "array['all', 'turns']";
  return sql`
    select n_workspace.identifier, dimension, at, coalesce(n_value.name, text, '') collate "C", requests, failures, attempts, cost_pico * 0.000000000001,
      input_tokens, cached_tokens, output_tokens, reasoning_tokens, first_events, durations
    from (
      select workspace, at, ${sql.raw(dimensions.length === 0 ? totals : `case ${dimensions.join(" ")} else ${totals} end`)} as dimensions,
        ${firstOf(wanted.filter(isNamed), "integer")} as number, ${firstOf(texts, "text")} as text,
        ${sumColumns(["requests", "failures", "attempts", "cost_pico", ...tokens, "first_events", "durations"])}
      from (${singleRows(rows)}) as singles
      group by workspace, at, grouping sets (${joinColumns(groups)})
    ) as sums
      cross join unnest(dimensions) as dimension
      join ledger_names as n_workspace on n_workspace.id = workspace
      left join ledger_names as n_value on n_value.id = number`;
}

const tokens = ["input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];
const orZero = joinColumns(["cost_pico", ...tokens].map((column) => `coalesce(${column}, 0) as ${column}`));

const singleRows = (rows: LedgerRows): RawBuilder<unknown> => sql`
  select workspace, date_bin('1 hour', opened_at, 'epoch') as at, key, model, provider, "user", door, operation, task, http_status, guardrail, requests, attempts,
    case when has_failed then requests else 0 end as failures, ${orZero},
    case when is_answered then coalesce(latency_count(first_ms), 0) else 0 end as first_events,
    case when is_answered then latency_count(duration_ms) else 0 end as durations
  from ledger
    cross join lateral (
      select outcome in (select id from ledger_names where name in ('failed', 'lost', 'refused')) as has_failed,
        outcome in (select id from ledger_names where name in ('completed', 'incomplete')) as is_answered
    ) as outcomes
  where ${inTable(rows)}`;

const activityNames = ["workspace", "key", "model", "provider", "service_tier", "operation", "door", "task"];

/** SQL for rows of `activity_changes`. */
export const ledgerActivity = (rows: LedgerRows): RawBuilder<unknown> => sql`
  ${callActivity(sql`(select * from all_calls where ${inViews(rows)})`, sql`ends_turn`)}
  union all
  select n_workspace.identifier, n_key.name, day, n_model.name, n_provider.name, coalesce(n_service_tier.name, 'default'), n_operation.name, n_door.name,
    coalesce(n_task.name, ''), cost_pico * 0.000000000001, calls, requests, input_tokens, output_tokens, reasoning_tokens
  from (
    select workspace, key, (opened_at at time zone 'UTC')::date as day, model, provider, service_tier, operation, door, task, sum(cost_pico) as cost_pico,
      count(*) as calls, count(*) filter (where last_attempt > 0) as requests,
      ${joinColumns(["input_tokens", "output_tokens", "reasoning_tokens"].map((column) => `coalesce(sum(${column}), 0) as ${column}`))}
    from ledger where ${inTable(rows)} and attempts > 0
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9
  ) as sums
    ${sql.raw(activityNames.map((column) => `left join ledger_names as n_${column} on n_${column}.id = sums.${column}`).join(" "))}`;
