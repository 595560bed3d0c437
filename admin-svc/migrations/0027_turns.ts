/**
 * Turns: one row for each request to a model, including refused requests. Calls to providers add to the row of their turn, and the record of the turn
 * completes it. A worker adds earlier calls to their turns while the service runs; these turns consist of calls only.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
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
  // False for earlier records, and for records of an earlier admin-svc, which may still run for a while and leaves the
  // default: neither are included in the rows of their turns.
  await sql`alter table usage_records add column in_turn boolean not null default false`.execute(database);
  // Turn records of a process arrive in order, so the last number tells which records are stored, and the count how
  // many are missing.
  await sql`
    create table turn_deliveries (
      boot_id uuid primary key,
      instance text not null,
      last_sequence bigint not null,
      records bigint not null,
      recorded_at timestamptz not null default now()
    )`.execute(database);
}
