/** Captured prompts and answers, encrypted, and the keys with `capture_content`. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column capture_content boolean not null default false`.execute(database);
  await sql`
    create table captured_contents (
      generation_id text collate "C" not null,
      key_hash text collate "C" not null references api_keys on delete cascade,
      workspace_id uuid not null references workspaces on delete cascade,
      request_id text collate "C" not null,
      "user" text,
      opened_at timestamptz not null,
      expires_at timestamptz not null,
      key_id text not null,
      salt bytea not null,
      sealed bytea not null,
      primary key (generation_id, key_hash)
    )`.execute(database);
  await sql`create index captured_contents_key on captured_contents (key_hash)`.execute(database);
  await sql`create index captured_contents_request on captured_contents (request_id)`.execute(database);
  await sql`create index captured_contents_expiry on captured_contents (expires_at)`.execute(database);
  await sql`
    create index captured_contents_user on captured_contents (workspace_id, "user") where "user" is not null`.execute(
    database,
  );
  // Ciphertext cannot be compressed, so Postgres should not try.
  await sql`alter table captured_contents alter column sealed set storage external`.execute(database);
}
