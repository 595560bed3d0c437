/** Ids that other programs give to keys, guardrails and workspaces. */
import { type Kysely, sql } from "kysely";

/** A table of its own, so that an earlier build can go on writing the records during a rolling upgrade. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table external_ids (
      workspace_id uuid not null references workspaces,
      kind text collate "C" not null check (kind in ('key', 'guardrail', 'workspace')),
      external_id text collate "C" not null check (char_length(external_id) between 1 and 200),
      target text collate "C" not null,
      created_at timestamptz not null default now(),
      primary key (workspace_id, kind, external_id)
    )`.execute(database);
  await sql`create index external_ids_target on external_ids (target)`.execute(database);
}
