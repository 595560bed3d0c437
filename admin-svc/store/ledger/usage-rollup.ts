/**
 * SQL for the changes that records cause in the sums by hour and day. For a dimension of calls, the cost counts in the
 * hour of the call; status and guardrail belong to a turn, so all of its cost counts in the hour when it began. A
 * trigger of the table `turns` records the changes of turns.
 */
import { type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";

/** Dimensions by which usage is summed. */
export const dimensions = [
  "key",
  "model",
  "provider",
  "user",
  "status",
  "guardrail",
  "door",
  "operation",
  "task",
] as const;
export type Dimension = (typeof dimensions)[number];

const columns: Readonly<Record<Dimension, string>> = {
  key: "key_hash",
  model: "model",
  provider: "provider",
  user: '"user"',
  status: "status",
  guardrail: "guardrail",
  door: "door",
  operation: "operation",
  task: "task",
};

const isOfTurn = (dimension: Dimension): boolean => dimension === "status" || dimension === "guardrail";

/** The dimension that sums all values of the given dimension: `turns` for dimensions of turns, `all` for others. */
export const totalDimension = (dimension: Dimension | undefined): "all" | "turns" =>
  dimension !== undefined && isOfTurn(dimension) ? "turns" : "all";

export const sumKeys = ["workspace_id", "dimension", "step", "at", "value"];
/** Columns with figures of calls. */
const spent = ["attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];
/**
 * Columns that count latencies in buckets: each bucket has twelve decimal digits of one number, the first bucket the
 * last digits.
 */
const latencyFigures = ["first_events", "durations"];
/** Columns with plain numbers, without counts of latencies. */
export const textFigures = ["requests", "failures", ...spent];
export const sumFigures = [...textFigures, ...latencyFigures];

/** Columns of `usage_changes`, in their order. */
export const changeKeys = [
  "workspace_id",
  "at",
  "is_turn",
  "key_hash",
  "model",
  "provider",
  '"user"',
  "door",
  "operation",
  "task",
  "status",
  "guardrail",
];
export const changeFigures = sumFigures;

export const joinColumns = (expressions: readonly string[]): RawBuilder<unknown> => sql.raw(expressions.join(", "));
export const sumColumns = (figures: readonly string[]): RawBuilder<unknown> =>
  joinColumns(figures.map((figure) => `sum(${figure}) as ${figure}`));

/**
 * SQL for rows of `usage_changes` caused by calls. @param calls a table or expression with the columns of
 * `usage_records`
 */
export const callChanges = (calls: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, date_trunc('hour', opened_at, 'UTC') as at, false as is_turn, key_hash, model, provider, coalesce("user", '') as "user",
    door, operation, coalesce(task, '') as task, '' as status, '' as guardrail, 0 as requests, 0 as failures, count(*) as attempts,
    ${joinColumns(spent.slice(1).map((column) => `coalesce(sum(${column}), 0) as ${column}`))}, 0 as first_events, 0 as durations
  from ${calls} as calls where payer = 'key'
  group by 1, 2, 4, 5, 6, 7, 8, 9, 10`;

/**
 * SQL for rows of `usage_changes` caused by new turns. @param turns a table or expression with the columns of `turns`
 */
export const turnChanges = (turns: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, date_trunc('hour', opened_at, 'UTC') as at, true as is_turn, key_hash, case when attempts > 0 then model else '' end as model,
    provider, coalesce("user", '') as "user", door, operation, coalesce(task, '') as task, http_status::text as status,
    coalesce(guardrail_id, '') as guardrail, requests, case when outcome in ('failed', 'lost', 'refused') then requests else 0 end as failures,
    ${joinColumns(spent)}, case when is_answered then coalesce(latency_count(first_ms), 0) else 0 end as first_events,
    case when is_answered then latency_count(duration_ms) else 0 end as durations
  from (select *, outcome in ('completed', 'incomplete') as is_answered from ${turns} as turns) as turns`;

/**
 * SQL for sums of changes by hour, with the columns of `usage_sums` except the step.
 * @param changes a table or expression with the columns of `usage_changes`
 */
export const hourSums = (changes: RawBuilder<unknown>, wanted: readonly Dimension[]): RawBuilder<unknown> => sql`
  ${grouped(
    sql`${changes} as changes`,
    "all",
    wanted.filter((dimension) => !isOfTurn(dimension)),
    joinColumns([
      "sum(requests) as requests",
      "sum(failures) as failures",
      ...spent.map((figure) => `coalesce(sum(${figure}) filter (where not is_turn), 0) as ${figure}`),
      ...latencyFigures.map((figure) => `sum(${figure}) as ${figure}`),
    ]),
  )}
  union all
  ${grouped(sql`${changes} as changes where is_turn`, "turns", wanted.filter(isOfTurn), sumColumns(sumFigures))}`;

/** Sums changes for all dimensions in one pass. */
function grouped(
  from: RawBuilder<unknown>,
  whole: "all" | "turns",
  wanted: readonly Dimension[],
  figures: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const names = wanted.map((dimension) => `when grouping(${columns[dimension]}) = 0 then '${dimension}'`);
  const sets = wanted.map((dimension) => `(${columns[dimension]})`);
  const dimension = names.length === 0 ? `'${whole}'` : `case ${names.join(" ")} else '${whole}' end`;
  const value = `coalesce(${[...wanted.map((each) => columns[each]), "''"].join(", ")})`;
  return sql`
    select workspace_id, ${sql.raw(dimension)} as dimension, at, ${sql.raw(value)} collate "C" as value, ${figures}
    from ${from} group by workspace_id, at, grouping sets (${joinColumns(["()", ...sets])})`;
}

/**
 * SQL for sums by hour and by day, with the columns of `usage_sums`. @param parts rows of `hourSums`; an hour and value
 * may have several
 */
export const sumHours = (parts: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  with hours as materialized (
    select workspace_id, dimension, at, value, ${sumColumns(sumFigures)} from (${parts}) as parts group by 1, 2, 3, 4
  )
  select workspace_id, dimension, 'hour' as step, at, value, ${joinColumns(sumFigures)} from hours
  union all
  select workspace_id, dimension, 'day', date_trunc('day', at, 'UTC'), value, ${sumColumns(sumFigures)} from hours group by 1, 2, 4, 5`;

/** SQL for sums by hour and by day of rows of `usage_changes`. */
export const changeSums = (changes: RawBuilder<unknown>): RawBuilder<unknown> =>
  sumHours(hourSums(changes, dimensions));

/** SQL that adds rows to stored sums in the order of their key. @param rows with the columns of `usage_sums` */
export const addSums = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  insert into usage_sums (${joinColumns([...sumKeys, ...sumFigures])})
  select ${joinColumns([...sumKeys, ...sumFigures])} from (${rows}) as rows order by ${joinColumns(sumKeys)}
  on conflict (${joinColumns(sumKeys)}) do update
    set ${joinColumns(sumFigures.map((figure) => `${figure} = usage_sums.${figure} + excluded.${figure}`))}`;

export interface SumsMove {
  readonly workspaceId: string;
  readonly dimension: Dimension;
  readonly value: string;
  readonly to: string;
  /** Condition on the moved rows. */
  readonly where: RawBuilder<unknown>;
}

/** Adds the sums of one value to those of another, and removes them. */
export async function moveSums(
  transaction: Transaction<Database>,
  { workspaceId, dimension, value, to, where }: SumsMove,
): Promise<void> {
  const keys = sumKeys.map((column) => (column === "value" ? sql`${to} as value` : sql.ref(column)));
  await sql`
    with moved as (
      delete from usage_sums
      where workspace_id = ${workspaceId} and dimension = ${dimension} and value = ${value} and ${where}
      returning *
    )
    ${addSums(sql`select ${sql.join(keys)}, ${joinColumns(sumFigures)} from moved`)}`.execute(transaction);
}
