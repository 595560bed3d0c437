/** Guardrails for every key of every workspace, and the management keys with permission to change them. */
import { type Kysely, sql } from "kysely";

/**
 * The columns have defaults, so an earlier build can continue to write keys and guardrails during a rolling upgrade. Account-wide guardrails belong to the
 * default workspace, which lists them and holds their audit log.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const ofDefault = sql`workspace_id = '00000000-0000-4000-8000-000000000001'`;
  await sql`
    alter table guardrails
      add column account_default boolean not null default false,
      add check (${ofDefault} or not account_default)`.execute(database);
  await sql`
    create index guardrails_account_default on guardrails (id) where account_default`.execute(database);
  await sql`
    alter table api_keys
      add column account boolean not null default false,
      add check ((${ofDefault} and kind = 'management') or not account)`.execute(database);
}
