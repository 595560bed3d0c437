/**
 * Indexes and checks of earlier records, made while records are written: neither runs within a transaction, nor holds a lock that blocks a writer. An
 * interrupted run is repeated; a database that already has them loses no time.
 */
import { type Kysely, sql } from "kysely";

export const isOnline = true;

const indexes = {
  // Calls used by learning routers; there are none until an operator enables learning.
  usage_records_task: "on usage_records (opened_at) include (task, model, cost_usd) where task is not null",
  usage_records_apart: "on usage_records (opened_at) where not in_turn",
};

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const [name, definition] of Object.entries(indexes)) {
    const { rows } = await sql<{ valid: boolean }>`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${name})`.execute(database);
    if (rows[0]?.valid === true) continue;
    // An interrupted run leaves an invalid index.
    if (rows[0]) await sql`drop index concurrently ${sql.id(name)}`.execute(database);
    await sql`create index concurrently ${sql.id(name)} ${sql.raw(definition)}`.execute(database);
  }
  const { rows: unchecked } = await sql<{ name: string }>`
    select conname as name from pg_constraint where conrelid = 'usage_records'::regclass and not convalidated`.execute(
    database,
  );
  for (const { name } of unchecked) {
    await sql`alter table usage_records validate constraint ${sql.id(name)}`.execute(database);
  }
}
