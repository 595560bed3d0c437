/** Assignments as records of their own: each has a name, and who made it. */
import { type Kysely, sql } from "kysely";

/**
 * Each column has a default, so that a build before this one goes on assigning keys while processes are replaced one by one. Its joins with
 * guardrails name `id` alone: hence the longer name here.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrail_key_assignments
      add column assignment_id uuid not null default gen_random_uuid(),
      add column assigned_by text collate "C"`.execute(database);
  // In the order of the list, so that a page needs no sorting; it serves whatever the one before it served.
  await sql`
    create index guardrail_key_assignments_list
      on guardrail_key_assignments (guardrail_id, created_at, key_hash)`.execute(database);
  await sql`drop index guardrail_key_assignments_guardrail`.execute(database);
}
