/** Calls that answer a part of a request: those of a panel, and the one that compares what it says. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      drop constraint usage_records_kind_check,
      add constraint usage_records_kind_check
        check (kind in ('primary', 'judge', 'moderation', 'classifier', 'panel', 'analyst'))`.execute(database);
}
