/**
 * Turns: one row for each request to a model, refused ones among them. Calls to providers add to the row of their turn, and the record of the
 * turn completes it; turns that were recorded before this migration have calls alone.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  // A call recorded between the reading of the calls and the new column would be taken for one that is in its turn.
  await sql`lock table usage_records in share row exclusive mode`.execute(database);
  await sql`
    create table turns (
      generation_id text collate "C" not null,
      key_hash text collate "C" not null,
      workspace_id uuid not null,
      request_id text collate "C" not null,
      opened_at timestamptz not null,
      duration_ms bigint not null,
      first_ms bigint,
      door text not null,
      operation text not null,
      task text,
      requested_model text,
      model text not null,
      provider text not null,
      service_tier text not null,
      outcome text not null
        check (outcome in ('completed', 'incomplete', 'failed', 'cancelled', 'lost', 'refused')),
      http_status smallint not null,
      error_type text,
      guardrail_id text,
      rule text,
      finish_reason text,
      streamed boolean not null,
      "user" text,
      session_id text,
      trace_id text,
      requests integer not null,
      attempts integer not null,
      cost_usd numeric(24, 12) not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      is_estimated boolean not null,
      last_attempt smallint not null,
      is_recorded boolean not null,
      primary key (generation_id, key_hash)
    )`.execute(database);
  await fillFromCalls(database);
  await sql`create index turns_workspace on turns (workspace_id, opened_at, generation_id)`.execute(database);
  // Turns arrive nearly in order of time, so a BRIN index costs almost nothing and still finds the oldest.
  await sql`create index turns_opened on turns using brin (opened_at)`.execute(database);
  await sql`create index turns_key on turns (key_hash, opened_at, generation_id)`.execute(database);
  await sql`create index turns_request on turns (request_id)`.execute(database);
  await sql`create index turns_model on turns (workspace_id, model, opened_at, generation_id)`.execute(database);
  await sql`create index turns_provider on turns (workspace_id, provider, opened_at, generation_id)`.execute(database);
  await sql`
    create index turns_failed on turns (workspace_id, http_status, opened_at, generation_id) where http_status <> 200`.execute(
    database,
  );
  await sql`
    create index turns_outcome on turns (workspace_id, outcome, opened_at, generation_id) where outcome <> 'completed'`.execute(
    database,
  );
  await sql`
    create index turns_user on turns (workspace_id, "user", opened_at, generation_id) where "user" is not null`.execute(
    database,
  );
  await sql`
    create index turns_session on turns (workspace_id, session_id, opened_at, generation_id)
    where session_id is not null`.execute(database);
  await sql`
    create index turns_guardrail on turns (workspace_id, guardrail_id, opened_at, generation_id)
    where guardrail_id is not null`.execute(database);
  await sql`create index turns_door on turns (workspace_id, door, opened_at, generation_id)`.execute(database);
  await sql`
    create index turns_operation on turns (workspace_id, operation, opened_at, generation_id)
    where operation <> 'turn'`.execute(database);
  // Records of before are in their turns. An admin-svc of before this migration, which may go on for a while, knows no turns and leaves the default.
  await sql`alter table usage_records add column in_turn boolean not null default true`.execute(database);
  await sql`alter table usage_records alter column in_turn set default false`.execute(database);
  await sql`create index usage_records_apart on usage_records (opened_at) where not in_turn`.execute(database);
  // Records of turns arrive in order, so that the last number tells which ones are known already, and the count how many are missing.
  await sql`
    create table turn_deliveries (
      boot_id uuid primary key,
      instance text not null,
      last_sequence bigint not null,
      records bigint not null,
      recorded_at timestamptz not null default now()
    )`.execute(database);
}

/** Only calls that keys pay for belong to turns; the last call that answered says what became of a turn. */
async function fillFromCalls(database: Kysely<unknown>): Promise<void> {
  await sql`
    insert into turns
    select generation_id, key_hash, workspace_id, request_id, first_at,
      greatest(0, extract(epoch from last_at - first_at) * 1000)::bigint,
      (extract(epoch from answered_at - first_at) * 1000)::bigint + first_ms, door, operation, task,
      null, model, provider, service_tier, status, http_status, null, null, null, finish_reason, streamed, "user", session_id, null,
      1, attempts, cost_usd, input_tokens, cached_tokens, output_tokens, reasoning_tokens, is_estimated, attempt, false
    from (
      select generation_id, key_hash, count(*) as attempts, coalesce(sum(cost_usd), 0) as cost_usd,
        coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(cached_tokens), 0) as cached_tokens,
        coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(reasoning_tokens), 0) as reasoning_tokens,
        bool_or(is_estimated) as is_estimated, min(opened_at) as first_at,
        max(opened_at + duration_ms * interval '1 ms') as last_at
      from usage_records where payer = 'key' group by 1, 2
    ) as sums join (
      select distinct on (generation_id, key_hash)
        generation_id, key_hash, workspace_id, request_id, opened_at as answered_at, first_ms, door, operation, task, model, provider,
        service_tier, status, http_status, finish_reason, streamed, "user", session_id, attempt
      from usage_records where payer = 'key'
      order by generation_id, key_hash, operation in ('turn', 'embed') desc, attempt desc, opened_at desc
    ) as last using (generation_id, key_hash)`.execute(database);
}
