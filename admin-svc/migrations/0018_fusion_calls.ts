/** Kinds of the calls within a fusion request: the panel members, and the analyst comparing their answers. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      drop constraint usage_records_kind_check,
      add constraint usage_records_kind_check
        check (kind in ('primary', 'judge', 'moderation', 'classifier', 'panel', 'analyst'))`.execute(database);
}
