/** Description of a guardrail. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrails
      add column description text check (char_length(description) <= 1000)`.execute(database);
}
