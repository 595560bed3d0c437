/** External ids, given to keys, guardrails and workspaces by other programs. */
import { type Kysely, sql } from "kysely";

/** A separate table, so an earlier build can continue to write the records during a rolling upgrade. */
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
