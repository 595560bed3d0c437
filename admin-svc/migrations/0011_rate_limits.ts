/** Rate limits of keys. */
import { type Kysely, sql } from "kysely";

/** Null means the limit of the configuration file. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column requests_per_minute integer check (requests_per_minute > 0),
      add column tokens_per_minute integer check (tokens_per_minute > 0),
      add column concurrent_requests integer check (concurrent_requests > 0)`.execute(database);
}
