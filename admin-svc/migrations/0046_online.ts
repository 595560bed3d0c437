/**
 * Indexes and checks of earlier records, made while records are written: neither runs within a transaction, nor holds a lock that blocks a writer. An
 * interrupted run is repeated; a database that already has them loses no time.
 */
import { type Kysely, sql } from "kysely";
import { makeIndexesOnline } from "./online-indexes.ts";

const indexes = {
  // Calls used by learning routers; there are none until an operator enables learning.
  usage_records_task: "on usage_records (opened_at) include (task, model, cost_usd) where task is not null",
  usage_records_apart: "on usage_records (opened_at) where not in_turn",
};

export async function up(database: Kysely<unknown>): Promise<void> {
  await makeIndexesOnline(database, indexes);
  const { rows: unchecked } = await sql<{ name: string }>`
    select conname as name from pg_constraint where conrelid = 'usage_records'::regclass and not convalidated`.execute(
    database,
  );
  for (const { name } of unchecked) {
    await sql`alter table usage_records validate constraint ${sql.id(name)}`.execute(database);
  }
}
