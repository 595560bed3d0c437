/** Kinds of judge, moderation and classifier calls that the key pays for, above the number that the operator pays for one request. Checked for new records; 0046 checks those before without a lock. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      drop constraint usage_records_kind_check,
      add constraint usage_records_kind_check
        check (kind in ('primary', 'judge', 'moderation', 'classifier', 'panel', 'analyst',
          'charged_judge', 'charged_moderation', 'charged_classifier')) not valid`.execute(database);
}
