/**
 * Budgets by tag: the budget entries of a workspace, the tag accounts that a reservation charges, sums by tag value and
 * day, and the values that got an account by an entry for every value. Columns without a default change no row, so
 * records can be stored meanwhile.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column tag_budgets jsonb`.execute(database);
  await sql`alter table budget_reservations add column tags jsonb`.execute(database);
  await sql`
    create table tag_days (
      workspace_id uuid not null,
      name text collate "C" not null,
      value text collate "C" not null,
      day date not null,
      cost_usd numeric not null,
      primary key (workspace_id, name, value, day)
    )`.execute(database);
  await sql`
    create table tag_accounts (
      workspace_id uuid not null,
      name text collate "C" not null,
      value text collate "C" not null,
      created_at timestamptz not null default now(),
      primary key (workspace_id, name, value)
    )`.execute(database);
}
