/**
 * Kinds of judge, moderation and classifier calls paid by the key: calls beyond the number paid by the operator for one request. Checked for new records;
 * 0046 checks earlier records without a lock.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      drop constraint usage_records_kind_check,
      add constraint usage_records_kind_check
        check (kind in ('primary', 'judge', 'moderation', 'classifier', 'panel', 'analyst',
          'charged_judge', 'charged_moderation', 'charged_classifier')) not valid`.execute(database);
}
