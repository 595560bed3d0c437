/**
 * Sums by hour and day follow the ledger: a batch writes its changes to `usage_changes`, and a worker adds them to the sums. Reports read pending changes
 * together with the sums, so both together always equal the records. Latencies move into the row of their sums, which takes fewer writes.
 */
import { type Kysely, type RawBuilder, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  // Locked in the same order as when records are stored, to avoid deadlocks.
  await sql`lock table turns, usage_sums in access exclusive mode`.execute(database);
  // Each bucket has twelve decimal digits of one number, so adding two numbers adds the counts of all buckets.
  await sql`
    create function latency_count(ms bigint) returns numeric language sql immutable as $$
      select ('1e' || (12 * latency_bucket(ms))::text)::numeric
    $$`.execute(database);
  await makeSums(database);
  await makeChanges(database);
  await noteTurns(database);
}

/** Free space on each page allows updates on the same page, without changes of the indexes. */
async function makeSums(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_sums rename to usage_sums_before`.execute(database);
  await sql`alter index usage_sums_pkey rename to usage_sums_before_pkey`.execute(database);
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
      first_events numeric not null,
      durations numeric not null,
      primary key (workspace_id, dimension, step, at, value)
    ) with (fillfactor = 80)`.execute(database);
  await sql`
    with latencies as (
      select workspace_id, dimension, step, at, value, sum(first_events * ('1e' || 12 * bucket)::numeric) as first_events,
        sum(turns * ('1e' || 12 * bucket)::numeric) as durations
      from usage_latencies group by 1, 2, 3, 4, 5
    ),
    sums as (
      select usage_sums_before.*, coalesce(first_events, 0) as first_events, coalesce(durations, 0) as durations
      from usage_sums_before left join latencies using (workspace_id, dimension, step, at, value)
    )
    insert into usage_sums
    select * from sums
    union all
    select workspace_id, 'turns', step, at, '', sum(requests), sum(failures), sum(attempts), sum(cost_usd), sum(input_tokens),
      sum(cached_tokens), sum(output_tokens), sum(reasoning_tokens), sum(first_events), sum(durations)
    from sums where dimension = 'status' group by 1, 3, 4
    order by 1, 2, 3, 4, 5`.execute(database);
  await sql`drop table usage_sums_before, usage_latencies`.execute(database);
}

/** The table has no index, because the worker takes rows in any order. */
async function makeChanges(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_changes (
      workspace_id uuid not null,
      at timestamptz not null,
      is_turn boolean not null,
      key_hash text collate "C" not null,
      model text collate "C" not null,
      provider text collate "C" not null,
      "user" text collate "C" not null,
      door text collate "C" not null,
      operation text collate "C" not null,
      task text collate "C" not null,
      status text collate "C" not null,
      guardrail text collate "C" not null,
      requests bigint not null,
      failures bigint not null,
      attempts bigint not null,
      cost_usd numeric(24, 12) not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      first_events numeric not null,
      durations numeric not null
    ) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)`.execute(database);
}

const figures = ["attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];

const turnsIn = (table: string, sign: 1 | -1): RawBuilder<unknown> => {
  const answered = (latency: string) =>
    `${sign} * case when outcome in ('completed', 'incomplete') then coalesce(latency_count(${latency}), 0) else 0 end`;
  return sql`
    select workspace_id, date_trunc('hour', opened_at, 'UTC') as at, key_hash, case when attempts > 0 then model else '' end as model, provider,
      coalesce("user", '') as "user", door, operation, coalesce(task, '') as task, http_status::text as status,
      coalesce(guardrail_id, '') as guardrail, ${sql.lit(sign)} * requests as requests,
      case when outcome in ('failed', 'lost', 'refused') then ${sql.lit(sign)} * requests else 0 end as failures,
      ${sql.raw(figures.map((column) => `${sign} * ${column} as ${column}`).join(", "))},
      ${sql.raw(answered("first_ms"))} as first_events, ${sql.raw(answered("duration_ms"))} as durations
    from ${sql.table(table)}`;
};

const note = (turns: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  insert into usage_changes
  select workspace_id, at, true, key_hash, model, provider, "user", door, operation, task, status, guardrail, sum(requests), sum(failures),
    ${sql.raw(figures.map((column) => `sum(${column})`).join(", "))}, sum(first_events), sum(durations)
  from (${turns}) as turns group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`;

/** A trigger sees the exact old and new row of a turn, even when two transactions add to it. It subtracts the old row from the sums and adds the new row. */
async function noteTurns(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function note_turns() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        ${note(turnsIn("changed", 1))};
      else
        ${note(sql`${turnsIn("changed", 1)} union all ${turnsIn("known", -1)}`)};
      end if;
      return null;
    end $$`.execute(database);
  await sql`
    create trigger turns_inserted after insert on turns referencing new table as changed
    for each statement execute function note_turns()`.execute(database);
  await sql`
    create trigger turns_updated after update on turns referencing old table as known new table as changed
    for each statement execute function note_turns()`.execute(database);
}
