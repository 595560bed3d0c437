/**
 * Columns for checking sums by tag against records: the part of a sum whose records have lost the tag by an erasure,
 * and the time from which calls count in the tag budgets of a workspace. Both defaults are constants, so no row
 * changes.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table tag_days add column unrecorded_usd numeric not null default 0`.execute(database);
  await sql`alter table workspaces add column tags_counted_from timestamptz not null default now()`.execute(database);
}
