/**
 * Saved views of the console's explorer, and alert rules on views with the outcome of their last check and their
 * history. Only new tables are created.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table views (
      workspace_id uuid not null,
      name text collate "C" not null,
      query text not null,
      created_by text not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (workspace_id, name)
    )`.execute(database);
  await sql`
    create table alert_rules (
      workspace_id uuid not null,
      name text collate "C" not null,
      id uuid not null unique default gen_random_uuid(),
      settings jsonb not null,
      created_by text not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      is_firing boolean not null default false,
      firing_since timestamptz,
      calm_since timestamptz,
      episode integer not null default 0,
      value double precision,
      checked_at timestamptz,
      last_error text,
      due_at timestamptz not null default now(),
      primary key (workspace_id, name)
    )`.execute(database);
  await sql`create index alert_rules_due on alert_rules (due_at)`.execute(database);
  await sql`
    create table alert_rule_events (
      id bigint primary key generated always as identity,
      rule_id uuid not null,
      workspace_id uuid not null,
      at timestamptz not null,
      type text not null check (type in ('fired', 'cleared', 'test')),
      value double precision,
      threshold double precision not null
    )`.execute(database);
  await sql`create index alert_rule_events_of_rule on alert_rule_events (rule_id, id)`.execute(database);
}
