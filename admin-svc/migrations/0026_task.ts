/** Kind of task of calls used by learning routers. 0046 makes their index. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_records add column task text`.execute(database);
}
