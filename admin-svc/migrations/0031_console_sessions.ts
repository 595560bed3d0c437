/** Sessions of people who signed in to the console. A session has the rights of its management key, and ends with it. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table console_sessions (
      hash text primary key check (hash ~ '^[0-9a-f]{64}$'),
      key_hash text not null references api_keys (hash),
      workspace_id uuid not null references workspaces (id),
      opened_at timestamptz not null default now(),
      seen_at timestamptz not null default now(),
      expires_at timestamptz not null
    )`.execute(database);
  await sql`create index console_sessions_key on console_sessions (key_hash)`.execute(database);
}
