/** Rules in words, evaluated by a model. */
import { type Kysely, sql } from "kysely";

/** The column has a default, so an earlier build can continue to write guardrails during a rolling upgrade. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrails
      add column judge_rules jsonb not null default '[]' check (jsonb_typeof(judge_rules) = 'array')`.execute(database);
}
