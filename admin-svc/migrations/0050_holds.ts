/**
 * Budget reservations that become provisional charges: the cost of a call without a stored record, the process that
 * renews them, and the time that decides to which budget period a charge belongs. Columns with constant defaults change
 * no row, so records can be stored meanwhile.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table budget_reservations
      add column boot_id uuid,
      add column is_settled boolean not null default false,
      add column reserved_at timestamptz not null default now()`.execute(database);
  await sql`
    create table budget_processes (
      boot_id uuid primary key,
      instance text not null,
      renewed_at timestamptz not null
    )`.execute(database);
}
