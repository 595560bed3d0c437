/**
 * Creates indexes and checks earlier records while new records are written: neither step runs within a transaction or
 * holds a lock that blocks a writer. An interrupted run can be repeated; on a database that has them already, it takes
 * no time.
 */
import { type Kysely, sql } from "kysely";
import { makeIndexesOnline } from "./online-indexes.ts";

const indexes = {
  // Index of calls used by learning routers; there are none until an operator enables learning.
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
