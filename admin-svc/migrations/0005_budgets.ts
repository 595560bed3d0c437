/** Budgets of keys: the limit, the sums by day, and the reservations of calls under way. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table api_keys
      add column limit_usd numeric(24, 12) check (limit_usd >= 0),
      add column limit_reset text check (limit_reset in ('daily', 'weekly', 'monthly'))`.execute(database);
  // Sums of the ledger, written in the transaction of their records: a sum over the records would become slower with every request.
  await sql`
    create table key_days (
      key_hash text collate "C" not null,
      day date not null,
      cost_usd numeric(24, 12) not null,
      attempts bigint not null,
      primary key (key_hash, day)
    )`.execute(database);
  await sql`
    insert into key_days (key_hash, day, cost_usd, attempts)
    select key_hash, (opened_at at time zone 'UTC')::date, coalesce(sum(cost_usd), 0), count(*)
    from usage_records
    group by 1, 2`.execute(database);
  await sql`
    create table budget_reservations (
      turn_id uuid not null,
      attempt smallint not null,
      key_hash text collate "C" not null,
      amount_usd numeric(24, 12) not null,
      expires_at timestamptz not null,
      primary key (turn_id, attempt)
    )`.execute(database);
  await sql`create index budget_reservations_key on budget_reservations (key_hash)`.execute(database);
}
