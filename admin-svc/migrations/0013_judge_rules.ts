/** Rules in words, which a model judges by. */
import { type Kysely, sql } from "kysely";

/** With a default, so that a build before this one goes on writing guardrails. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrails
      add column judge_rules jsonb not null default '[]' check (jsonb_typeof(judge_rules) = 'array')`.execute(database);
}
