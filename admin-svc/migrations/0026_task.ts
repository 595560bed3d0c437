/** Kind of task of calls that routers learn from. Their index is made by 0046. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_records add column task text`.execute(database);
}
