/** The setting of keys whose prompts and answers are included in traces. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column trace_content boolean not null default false`.execute(database);
}
