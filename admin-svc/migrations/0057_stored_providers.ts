/** Providers kept in the database. Their API keys are encrypted by inference-svc, the only service with the secret. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table stored_providers (
      id text primary key check (id <> ''),
      settings jsonb not null,
      sealed_keys text not null,
      key_ends text[] not null,
      revision bigint not null generated always as identity,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(database);
}
