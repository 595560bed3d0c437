/** Time of a call's first event, and why its answer ended; null for earlier records, and when unknown. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      add column first_ms bigint,
      add column finish_reason text`.execute(database);
}
