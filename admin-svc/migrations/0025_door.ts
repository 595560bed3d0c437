/** The client's API format of a call. Earlier records are of responses; the default covers these without a rewrite. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_records add column door text not null default 'responses'`.execute(database);
}
