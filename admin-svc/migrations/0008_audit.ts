/**
 * The audit log: every change by an administrator, written in the transaction of the change.
 *
 * Entries of a workspace form a chain: each hash covers the previous hash, and the workspace holds the last. The content of an entry has a separate salted
 * digest, so it can be erased later and the chain still be verified. When the oldest entries have been removed, the workspace also holds the last hash of
 * those.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table workspaces
      add column audit_sequence bigint not null default 0,
      add column audit_hash bytea not null default '',
      add column audit_trimmed_sequence bigint not null default 0,
      add column audit_trimmed_hash bytea not null default '',
      alter column id set default gen_random_uuid()`.execute(database);
  await sql`create unique index workspaces_name on workspaces (name)`.execute(database);
  await sql`
    create table audit_log (
      workspace_id uuid not null references workspaces,
      sequence bigint not null,
      at timestamptz not null,
      actor text collate "C" not null,
      action text collate "C" not null,
      target text collate "C",
      before json,
      after json,
      request_id text,
      generation bigint,
      salt uuid,
      digest bytea not null,
      hash bytea not null,
      erased_at timestamptz,
      primary key (workspace_id, sequence)
    )`.execute(database);
}
