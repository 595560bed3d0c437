/** Allows keys to be disabled and changed, and links them to their end user. */
import { type Kysely, sql } from "kysely";

/** Each column has a default, so an earlier build can continue to write keys during a rolling upgrade. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column disabled boolean not null default false,
      add column external_user text collate "C" check (char_length(external_user) between 1 and 512),
      add column updated_at timestamptz`.execute(database);
}
