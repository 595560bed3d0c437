/**
 * Guardrails that a key has in addition to the assigned one, as a list of ids; an index finds the keys of a guardrail.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column further_guardrails text[]`.execute(database);
  await sql`
    create index api_keys_further_guardrails on api_keys using gin (further_guardrails)
    where further_guardrails is not null`.execute(database);
}
