/** Format in which the client of a call spoke. Records before this one are of responses, as the default says without a rewrite. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_records add column door text not null default 'responses'`.execute(database);
}
