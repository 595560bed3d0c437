/**
 * The ledger. A record is written once and never changed.
 *
 * It has no reference to keys or workspaces: usage stays on record when they are gone, and a record is never refused because of them.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_records (
      turn_id uuid not null,
      attempt smallint not null,
      boot_id uuid not null,
      sequence bigint not null,
      instance text not null,
      workspace_id uuid not null,
      key_hash text collate "C" not null,
      generation_id text collate "C" not null,
      request_id text not null,
      opened_at timestamptz not null,
      duration_ms bigint not null,
      model text not null,
      provider text not null,
      upstream_model text not null,
      service_tier text not null,
      status text not null check (status in ('completed', 'incomplete', 'failed', 'cancelled', 'lost')),
      http_status smallint not null,
      input_tokens bigint,
      cached_tokens bigint,
      cache_write_tokens bigint,
      output_tokens bigint,
      reasoning_tokens bigint,
      is_estimated boolean not null,
      cost_usd numeric(24, 12),
      streamed boolean not null,
      "user" text,
      session_id text,
      recorded_at timestamptz not null default now(),
      primary key (turn_id, attempt)
    )`.execute(database);
  await sql`create index usage_records_key on usage_records (key_hash, opened_at)`.execute(database);
  await sql`create index usage_records_workspace on usage_records (workspace_id, opened_at)`.execute(database);
  await sql`create index usage_records_generation on usage_records (generation_id)`.execute(database);
  await sql`create unique index usage_records_boot on usage_records (boot_id, sequence)`.execute(database);
}
