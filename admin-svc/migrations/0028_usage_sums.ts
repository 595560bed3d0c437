/**
 * Sums of usage by hour and by day, for each value of each dimension, so a series over millions of turns reads a few hundred rows; and bucketed counts of
 * latencies, for percentiles. Both change in the transaction that stores the records.
 */
import { type Kysely, type RawBuilder, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_sums (
      workspace_id uuid not null,
      dimension text not null,
      step text not null check (step in ('hour', 'day')),
      at timestamptz not null,
      value text collate "C" not null,
      requests bigint not null,
      failures bigint not null,
      attempts bigint not null,
      cost_usd numeric(24, 12) not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      primary key (workspace_id, dimension, step, at, value)
    )`.execute(database);
  await sql`
    create table usage_latencies (
      workspace_id uuid not null,
      dimension text not null,
      step text not null check (step in ('hour', 'day')),
      at timestamptz not null,
      value text collate "C" not null,
      bucket smallint not null,
      first_events bigint not null,
      turns bigint not null,
      primary key (workspace_id, dimension, step, at, value, bucket)
    )`.execute(database);
  // Four buckets for each doubling: bucket 0 is up to a millisecond, and bucket n up to 2^(n/4) ms.
  await sql`
    create function latency_bucket(ms bigint) returns smallint language sql immutable as $$
      select ceil(4 * ln(greatest(ms, 1)) / ln(2))::smallint
    $$`.execute(database);
  await fillSums(database);
  await fillLatencies(database);
}

const steps = sql`(values ('hour'), ('day')) as steps (step)`;
const start = sql`date_trunc(step, opened_at at time zone 'UTC') at time zone 'UTC'`;

const callDimensions = `('all', ''), ('key', key_hash collate "C"), ('model', model), ('provider', provider), ('user', coalesce("user", '')),
  ('door', door), ('operation', operation), ('task', coalesce(task, ''))`;
const turnDimensions = `${callDimensions}, ('status', http_status::text), ('guardrail', coalesce(guardrail_id, ''))`;
const lateral = (dimensions: string): RawBuilder<unknown> =>
  sql`cross join lateral (values ${sql.raw(dimensions)}) as dimensions (dimension, value)`;

async function fillSums(database: Kysely<unknown>): Promise<void> {
  const ofTurn = sql`dimension in ('status', 'guardrail')`;
  await sql`
    insert into usage_sums
    select workspace_id, dimension, step, ${start}, value collate "C", sum(requests), sum(failures), sum(attempts), sum(cost_usd),
      sum(input_tokens), sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens)
    from (
      select workspace_id, dimension, value, opened_at, 0 as requests, 0 as failures, 1 as attempts, coalesce(cost_usd, 0) as cost_usd,
        coalesce(input_tokens, 0) as input_tokens, coalesce(cached_tokens, 0) as cached_tokens,
        coalesce(output_tokens, 0) as output_tokens, coalesce(reasoning_tokens, 0) as reasoning_tokens
      from usage_records ${lateral(callDimensions)} where payer = 'key' and in_turn
      union all
      select workspace_id, dimension, value, opened_at, requests,
        case when outcome in ('failed', 'lost', 'refused') then requests else 0 end,
        case when ${ofTurn} then attempts else 0 end, case when ${ofTurn} then cost_usd else 0 end,
        case when ${ofTurn} then input_tokens else 0 end, case when ${ofTurn} then cached_tokens else 0 end,
        case when ${ofTurn} then output_tokens else 0 end, case when ${ofTurn} then reasoning_tokens else 0 end
      from turns ${lateral(turnDimensions)}
    ) as points cross join ${steps}
    group by 1, 2, 3, 4, 5`.execute(database);
}

async function fillLatencies(database: Kysely<unknown>): Promise<void> {
  await sql`
    insert into usage_latencies
    select workspace_id, dimension, step, ${start}, value collate "C", bucket, sum(first_events), sum(ends)
    from turns ${lateral(turnDimensions)} cross join ${steps} cross join lateral (values
      (latency_bucket(first_ms), 1, 0), (latency_bucket(duration_ms), 0, 1)
    ) as latencies (bucket, first_events, ends)
    where outcome in ('completed', 'incomplete') and bucket is not null
    group by 1, 2, 3, 4, 5, 6`.execute(database);
}
