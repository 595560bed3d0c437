/** Assignments become records with an id and an author. */
import { type Kysely, sql } from "kysely";

/**
 * Each column has a default, so an earlier build can continue to assign keys during a rolling upgrade. Joins of that build name only `id`, so this column
 * is called `assignment_id`.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table guardrail_key_assignments
      add column assignment_id uuid not null default gen_random_uuid(),
      add column assigned_by text collate "C"`.execute(database);
  // Sorted like the list, so a page needs no sorting; it also replaces the previous index.
  await sql`
    create index guardrail_key_assignments_list
      on guardrail_key_assignments (guardrail_id, created_at, key_hash)`.execute(database);
  await sql`drop index guardrail_key_assignments_guardrail`.execute(database);
}
