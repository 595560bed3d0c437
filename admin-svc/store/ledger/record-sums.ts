/**
 * Sums of the records of a period, chosen by filters, for values of up to two dimensions: for reports that no stored sums answer. Rows of the ledger with a
 * single call are summed by the numbers in their columns, in one pass for turns and calls; the few others are read through the views.
 */
import type { SeriesUnit } from "@sluice/proto/contract/records/usage-series.js";
import { type RawBuilder, sql } from "kysely";
import { numberOf } from "./names.ts";
import {
  type SeriesFilter,
  callFilter,
  isByTurn,
  ledgerFilter,
  ledgerNumbers,
  ledgerTexts,
  recordValues,
  turnFilter,
  turnValues,
} from "./series-filter.ts";
import { joinColumns, sumColumns } from "./usage-rollup.ts";

export interface RecordSums {
  readonly workspaceId: string;
  /** Size of the times by which is summed. */
  readonly step: "hour" | "day";
  /** At most two. */
  readonly by: readonly SeriesUnit[];
  readonly filter: SeriesFilter;
  /** Whether all calls of a turn count as its own, in any case. */
  readonly countsByTurn?: true;
  /** Included. */
  readonly from: Date;
  /** Not included. */
  readonly to: Date;
}

/** Figures of calls. */
const spent = ["attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];

const none = (figures: readonly string[]) => joinColumns(figures.map((figure) => `0 as ${figure}`));

/** Rows of `at`, `value`, `second` and the figures of `usage_sums`; several may have the same time and values. */
export function recordSums(query: RecordSums): RawBuilder<unknown> {
  const parts = [ledgerPart(query), earlierTurns(query)];
  if (!isOfTurns(query)) parts.push(otherCalls(query));
  return sql.join(parts, sql` union all `);
}

const isOfTurns = ({ by, filter, countsByTurn }: RecordSums): boolean => countsByTurn === true || isByTurn(by, filter);

const figures = joinColumns(["requests", "failures", ...spent, "first_events", "durations"]);
const bin = (step: "hour" | "day") => sql`date_bin(${sql.lit(`1 ${step}`)}::interval, opened_at, 'epoch') as at`;
const where = (conditions: readonly RawBuilder<unknown>[]) => sql.join(conditions, sql` and `);

const inPeriod = ({ from, to }: RecordSums) => [sql`opened_at >= ${from}`, sql`opened_at < ${to}`];

/** Sums of a table or view by two values. */
const grouped = (
  { step, by }: RecordSums,
  values: Readonly<Record<SeriesUnit, RawBuilder<unknown>>>,
  sums: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
): RawBuilder<unknown> => {
  const valueOf = (place: number) => (by[place] === undefined ? sql`''` : values[by[place]]);
  return sql`
    select ${bin(step)}, ${valueOf(0)} collate "C" as value, ${valueOf(1)} collate "C" as second, ${sums}
    from ${from} group by 1, 2, 3`;
};

/** All turns of the ledger, and the calls of those with a single one; where all calls count as their turn's, those of all. */
function ledgerPart(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, by, filter } = query;
  const callsOf = isOfTurns(query) ? sql`` : sql` filter (where is_single_call(calls, opened_at, call_after_ms))`;
  const columns = by.flatMap((unit, place) => {
    const column = ledgerNumbers[unit] ?? ledgerTexts[unit] ?? sql`null`;
    return [sql`${column} as ${sql.ref(`value_${place}`)}`];
  });
  const conditions = [
    sql`workspace = ${numberOf(workspaceId)}`,
    sql`not is_moved`,
    ...inPeriod(query),
    ...ledgerFilter(filter),
  ];
  const nameOf = (place: number) => {
    const unit = by[place];
    const column = sql.ref(`value_${place}`);
    if (unit === undefined) return sql`''`;
    if (ledgerNumbers[unit] === undefined) return sql`coalesce(${column}, '')`;
    return sql`coalesce((select name from ledger_names where id = ${column}), '')`;
  };
  const spending = spent.map((figure) => {
    const column = figure === "cost_usd" ? "cost_pico" : figure;
    return sql`coalesce(sum(${sql.ref(column)})${callsOf}, 0)${sql.raw(figure === "cost_usd" ? " * 0.000000000001" : "")} as ${sql.ref(figure)}`;
  });
  const values = by.map((_, place) => sql.ref(`value_${place}`));
  return sql`
    select at, ${nameOf(0)} collate "C" as value, ${nameOf(1)} collate "C" as second, ${figures}
    from (
      select ${sql.join([bin(query.step), ...columns])}, sum(requests) as requests,
        coalesce(sum(requests) filter (where outcome in (select id from ledger_names where name in ('failed', 'lost', 'refused'))), 0) as failures,
        ${sql.join(spending)}, coalesce(sum(latency_count(first_ms)) filter (where ${isAnswered}), 0) as first_events,
        coalesce(sum(latency_count(duration_ms)) filter (where ${isAnswered}), 0) as durations
      from ledger where ${where(conditions)}
      group by ${sql.join([sql`at`, ...values])}
    ) as sums`;
}

const isAnswered = sql`outcome in (select id from ledger_names where name in ('completed', 'incomplete'))`;

/** Turns outside of the ledger. */
function earlierTurns(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, filter } = query;
  const conditions = [sql`workspace_id = ${workspaceId}`, ...inPeriod(query), ...turnFilter(filter)];
  const spending = isOfTurns(query) ? sumColumns(spent) : none(spent);
  const answered = (column: string) =>
    sql`coalesce(sum(latency_count(${sql.ref(column)})) filter (where outcome in ('completed', 'incomplete')), 0)`;
  const sums = sql`sum(requests) as requests,
      coalesce(sum(requests) filter (where outcome in ('failed', 'lost', 'refused')), 0) as failures, ${spending},
      ${answered("first_ms")} as first_events, ${answered("duration_ms")} as durations`;
  return grouped(query, turnValues, sums, sql`turns where ${where(conditions)}`);
}

/** Calls outside of the ledger, and those of turns with several. A call is within a day of its turn. */
function otherCalls(query: RecordSums): RawBuilder<unknown> {
  const { workspaceId, filter, from, to } = query;
  const dayMs = 86_400_000;
  const conditions = [
    sql`workspace_id = ${workspaceId}`,
    ...inPeriod(query),
    sql`near >= ${new Date(from.getTime() - dayMs)}`,
    sql`near < ${new Date(to.getTime() + dayMs)}`,
    sql`is_single is not true`,
    sql`payer = 'key'`,
    ...callFilter(filter),
  ];
  const spending = joinColumns([
    "0 as requests",
    "0 as failures",
    "count(*) as attempts",
    ...spent.slice(1).map((column) => `coalesce(sum(${column}), 0) as ${column}`),
    "0 as first_events",
    "0 as durations",
  ]);
  return grouped(query, recordValues, spending, sql`all_calls where ${where(conditions)}`);
}
