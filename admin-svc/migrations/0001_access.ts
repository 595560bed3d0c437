/** Workspaces, keys, guardrails, end users and the policy generation. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table workspaces (
      id uuid primary key,
      name text not null,
      created_at timestamptz not null default now()
    )`.execute(database);
  await sql`
    insert into workspaces (id, name) values ('00000000-0000-4000-8000-000000000001', 'default')`.execute(database);
  await sql`
    create table api_keys (
      hash text collate "C" primary key check (hash ~ '^[0-9a-f]{64}$'),
      workspace_id uuid not null references workspaces,
      name text not null check (char_length(name) between 1 and 200),
      kind text not null check (kind in ('inference', 'management')),
      label text not null,
      expires_at timestamptz,
      revoked_at timestamptz,
      created_at timestamptz not null default now()
    )`.execute(database);
  await sql`create index api_keys_workspace on api_keys (workspace_id, created_at)`.execute(database);
  await sql`
    create table guardrails (
      id uuid primary key default gen_random_uuid(),
      workspace_id uuid not null references workspaces,
      name text not null check (char_length(name) between 1 and 200),
      content_filters jsonb not null check (jsonb_typeof(content_filters) = 'array'),
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(database);
  await sql`create index guardrails_workspace on guardrails (workspace_id, created_at)`.execute(database);
  await sql`
    create table guardrail_key_assignments (
      key_hash text collate "C" primary key references api_keys,
      guardrail_id uuid not null references guardrails,
      created_at timestamptz not null default now()
    )`.execute(database);
  await sql`
    create index guardrail_key_assignments_guardrail on guardrail_key_assignments (guardrail_id)`.execute(database);
  // The C collation compares bytes: another collation could treat two different end users as equal.
  await sql`
    create table end_users (
      workspace_id uuid not null references workspaces,
      "user" text collate "C" not null check (char_length("user") between 1 and 512),
      is_active boolean not null default true,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (workspace_id, "user")
    )`.execute(database);
  await sql`
    create table policy_generation (
      id boolean primary key default true check (id),
      generation bigint not null
    )`.execute(database);
  // The generation starts at 1, because 0 means "nothing applied yet".
  await sql`insert into policy_generation (generation) values (1)`.execute(database);
  await sql`
    create table policy_log (
      generation bigint primary key,
      key_hashes text[],
      created_at timestamptz not null default now()
    )`.execute(database);
}
