/** Keys that can be disabled for a while and changed, and the end user that a key was made for. */
import { type Kysely, sql } from "kysely";

/** Each column has a default, so that a build before this one goes on writing keys while processes are replaced one by one. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column disabled boolean not null default false,
      add column external_user text collate "C" check (char_length(external_user) between 1 and 512),
      add column updated_at timestamptz`.execute(database);
}
