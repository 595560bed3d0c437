/** Kind of task of calls that routers learn from. The index holds these calls alone: there are none until an operator lets routers learn. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_records add column task text`.execute(database);
  await sql`
    create index usage_records_task on usage_records (opened_at) include (task, model, cost_usd)
    where task is not null`.execute(database);
}
