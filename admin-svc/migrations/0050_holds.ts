/**
 * Holds that become provisional charges: the cost of a call whose record is not stored yet, the process that renews its holds, and the time that
 * says in which period a charge counts. Columns with constant defaults change no row, so that records are stored meanwhile.
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
