/** Counts of the records removed by retention, so the ledger can still be checked for gaps. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger_retention (
      id boolean primary key default true check (id),
      kept_from date not null
    )`.execute(database);
  await sql`insert into ledger_retention (kept_from) values ('-infinity')`.execute(database);
  await sql`
    create table removed_records (
      boot_id uuid primary key,
      records bigint not null
    )`.execute(database);
  // Records arrive nearly in order of time, so a BRIN index costs almost nothing and still finds the oldest.
  await sql`create index usage_records_opened on usage_records using brin (opened_at)`.execute(database);
}
