/**
 * Smaller indexes of turns. Few turns share a timestamp, so such turns are sorted when read, and the indexes need no
 * ids; a session or a guardrail belongs to one workspace, so its index omits the workspace.
 */
import { type Kysely, sql } from "kysely";

const indexes = [
  "turns_workspace on turns (workspace_id, opened_at)",
  "turns_key on turns (key_hash, opened_at)",
  "turns_model on turns (workspace_id, model, opened_at)",
  "turns_provider on turns (workspace_id, provider, opened_at)",
  "turns_door on turns (workspace_id, door, opened_at)",
  "turns_failed on turns (workspace_id, http_status, opened_at) where http_status <> 200",
  "turns_outcome on turns (workspace_id, outcome, opened_at) where outcome <> 'completed'",
  "turns_operation on turns (workspace_id, operation, opened_at) where operation <> 'turn'",
  'turns_user on turns (workspace_id, "user", opened_at) where "user" is not null',
  "turns_session on turns (session_id, opened_at) where session_id is not null",
  "turns_guardrail on turns (guardrail_id, opened_at) where guardrail_id is not null",
];

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const index of indexes) {
    await sql`drop index ${sql.ref(index.slice(0, index.indexOf(" ")))}`.execute(database);
    await sql`create index ${sql.raw(index)}`.execute(database);
  }
}
