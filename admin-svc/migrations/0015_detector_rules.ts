/** What services beside the house look for. */
import { type Kysely, sql } from "kysely";

/** With a default, so that a build before this one goes on writing guardrails. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrails
      add column detectors jsonb not null default '[]' check (jsonb_typeof(detectors) = 'array')`.execute(database);
}
