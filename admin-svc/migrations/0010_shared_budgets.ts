/** Budgets of workspaces and guardrails, in addition to those of keys. */
import { type Kysely, sql } from "kysely";

/** Reservations of an earlier build have no workspace: they count for their keys only, for ten minutes at most. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table workspaces
      add column limit_usd numeric(24, 12) check (limit_usd >= 0),
      add column limit_reset text check (limit_reset in ('daily', 'weekly', 'monthly'))`.execute(database);
  await sql`
    alter table guardrails
      add column limit_usd numeric(24, 12) check (limit_usd >= 0),
      add column limit_reset text check (limit_reset in ('daily', 'weekly', 'monthly')),
      add check ((limit_usd is null) = (limit_reset is null))`.execute(database);
  await sql`alter table budget_reservations add column workspace_id uuid`.execute(database);
  await sql`create index budget_reservations_workspace on budget_reservations (workspace_id)`.execute(database);
  await sql`
    create table workspace_days (
      workspace_id uuid not null,
      day date not null,
      cost_usd numeric(24, 12) not null,
      attempts bigint not null,
      primary key (workspace_id, day)
    )`.execute(database);
  await sql`
    insert into workspace_days (workspace_id, day, cost_usd, attempts)
    select workspace_id, (opened_at at time zone 'UTC')::date, coalesce(sum(cost_usd), 0), count(*)
    from usage_records
    group by 1, 2`.execute(database);
}
