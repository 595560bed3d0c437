/** When a call gave its first event, and why its answer ended; null of calls recorded before, and where neither is known. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      add column first_ms bigint,
      add column finish_reason text`.execute(database);
}
