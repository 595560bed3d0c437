/** The gateway's own calls have separate kinds: judge, moderation and classifier. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      drop constraint usage_records_kind_check,
      add constraint usage_records_kind_check
        check (kind in ('primary', 'judge', 'moderation', 'classifier'))`.execute(database);
}
