/**
 * The part of the statement that stores records which keeps the sums by hour and day. A dimension of a call gets the cost in the hour of the
 * call; status and guardrail belong to a turn, and get all of its cost in the hour in which it began. A turn that changes is taken out of the
 * sums as it was, and put in as it is.
 */
import { type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";

/** Units of a series. */
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

const ofBoth = `('all', ''), ('key', key_hash collate "C"), ('provider', provider), ('user', coalesce("user", '')), ('door', door),
  ('operation', operation), ('task', coalesce(task, ''))`;
const ofCalls = `${ofBoth}, ('model', model)`;
// A model that was asked for and never called may be any text that a client invents.
const ofTurns = `${ofBoth}, ('model', case when attempts > 0 then model else '' end), ('status', http_status::text),
  ('guardrail', coalesce(guardrail_id, ''))`;

const lateral = (values: string): RawBuilder<unknown> =>
  sql`cross join lateral (values ${sql.raw(values)}) as dimensions (dimension, value)`;

export const sumKeys = ["workspace_id", "dimension", "step", "at", "value"];
export const sumFigures = [
  "requests",
  "failures",
  "attempts",
  "cost_usd",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
];
export const latencyKeys = [...sumKeys, "bucket"];
export const latencyFigures = ["first_events", "turns"];
/** Figures of calls. */
const summed = sumFigures.slice(2);
const sumsOf = (columns: readonly string[]): string =>
  columns.map((column) => `sum(${column}) as ${column}`).join(", ");

/** Rows that add calls to the sums. @param calls a table or expression with the columns of `usage_records` */
const callPoints = (calls: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, dimension, value collate "C" as value, opened_at, 0 as requests, 0 as failures, 1 as attempts,
    ${sql.raw(
      summed
        .slice(1)
        .map((column) => `coalesce(${column}, 0) as ${column}`)
        .join(", "),
    )}
  from ${calls} as calls ${lateral(ofCalls)} where payer = 'key'`;

/** Rows that add turns to the sums. @param turns a table or expression with the columns of `turns` @param sign 1, or -1 to take them out */
const turnPoints = (turns: RawBuilder<unknown>, sign: 1 | -1): RawBuilder<unknown> => {
  const own = summed.map(
    (column) => `case when dimension in ('status', 'guardrail') then ${sign} * ${column} else 0 end as ${column}`,
  );
  return sql`
    select workspace_id, dimension, value collate "C" as value, opened_at, ${sql.lit(sign)} * requests as requests,
      case when outcome in ('failed', 'lost', 'refused') then ${sql.lit(sign)} * requests else 0 end as failures, ${sql.raw(own.join(", "))}
    from ${turns} as turns ${lateral(ofTurns)}`;
};

/** Latencies of turns that were answered. */
const latencyPoints = (turns: RawBuilder<unknown>, sign: 1 | -1): RawBuilder<unknown> => sql`
  select workspace_id, dimension, value collate "C" as value, opened_at, bucket,
    ${sql.lit(sign)} * is_first as first_events, ${sql.lit(sign)} * is_end as turns
  from ${turns} as turns ${lateral(ofTurns)}
    cross join lateral (values (latency_bucket(first_ms), 1, 0), (latency_bucket(duration_ms), 0, 1)) as latencies (bucket, is_first, is_end)
  where outcome in ('completed', 'incomplete') and bucket is not null`;

const steps = sql`cross join (values ('hour'), ('day')) as steps (step)`;
const at = sql`date_trunc(step, opened_at at time zone 'UTC') at time zone 'UTC'`;

/** Sums of points, by the primary key of `usage_sums`. */
const sumPoints = (points: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, dimension, step, ${at} as at, value, ${sql.raw(sumsOf(sumFigures))} from (${points}) as points ${steps}
  group by 1, 2, 3, 4, 5`;

const sumLatencies = (points: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select workspace_id, dimension, step, ${at} as at, value, bucket, sum(first_events) as first_events, sum(turns) as turns
  from (${points}) as points ${steps} group by 1, 2, 3, 4, 5, 6`;

const added = (table: string, columns: readonly string[]): string =>
  columns.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(", ");

/** Common table expressions after `stored`, `known` and `changed`. */
export const rollupExpressions: RawBuilder<unknown> = sql`
  rolled_up as (
    insert into usage_sums
    ${sumPoints(sql`
      ${callPoints(sql`stored`)} union all ${turnPoints(sql`changed`, 1)} union all ${turnPoints(sql`known`, -1)}`)}
    order by 1, 2, 3, 4, 5
    on conflict (workspace_id, dimension, step, at, value) do update set ${sql.raw(added("usage_sums", sumFigures))}
  ),
  latencies as (
    insert into usage_latencies
    ${sumLatencies(sql`${latencyPoints(sql`changed`, 1)} union all ${latencyPoints(sql`known`, -1)}`)}
    having sum(first_events) <> 0 or sum(turns) <> 0
    order by 1, 2, 3, 4, 5, 6
    on conflict (workspace_id, dimension, step, at, value, bucket) do update
      set ${sql.raw(added("usage_latencies", latencyFigures))}
  )`;

/** The sums as the records say. */
export const recordedSums = sumPoints(sql`${callPoints(sql`usage_records`)} union all ${turnPoints(sql`turns`, 1)}`);
export const recordedLatencies = sumLatencies(latencyPoints(sql`turns`, 1));

export interface SumsMove {
  readonly workspaceId: string;
  readonly dimension: Dimension;
  readonly value: string;
  readonly to: string;
  /** Restricts the moved rows. */
  readonly where: RawBuilder<unknown>;
}

/** Adds the sums of one value to those of another one. */
export async function moveSums(transaction: Transaction<Database>, move: SumsMove): Promise<void> {
  await moveRows(transaction, "usage_sums", sumKeys, sumFigures, move);
  await moveRows(transaction, "usage_latencies", latencyKeys, latencyFigures, move);
}

async function moveRows(
  transaction: Transaction<Database>,
  table: "usage_sums" | "usage_latencies",
  keys: readonly string[],
  figures: readonly string[],
  { workspaceId, dimension, value, to, where }: SumsMove,
): Promise<void> {
  const columns = [...keys, ...figures];
  const moved = columns.map((column) => (column === "value" ? sql`${to}` : sql.ref(column)));
  await sql`
    with moved as (
      delete from ${sql.table(table)}
      where workspace_id = ${workspaceId} and dimension = ${dimension} and value = ${value} and ${where}
      returning *
    )
    insert into ${sql.table(table)} (${sql.raw(columns.join(", "))}) select ${sql.join(moved)} from moved
    on conflict (${sql.raw(keys.join(", "))}) do update set ${sql.raw(added(table, figures))}`.execute(transaction);
}
