/** Rules in words, which a model judges by. */
import { type Kysely, sql } from "kysely";

/** The column has a default, so that an earlier build can go on writing guardrails during a rolling upgrade. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrails
      add column judge_rules jsonb not null default '[]' check (jsonb_typeof(judge_rules) = 'array')`.execute(database);
}
