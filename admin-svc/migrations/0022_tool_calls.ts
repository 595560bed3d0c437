/**
 * Kinds of the calls made by server tools for an answer: the advice of another model, and images. Checked for new records; 0046 checks earlier records
 * without a lock.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      drop constraint usage_records_kind_check,
      add constraint usage_records_kind_check
        check (kind in ('primary', 'judge', 'moderation', 'classifier', 'panel', 'analyst',
          'charged_judge', 'charged_moderation', 'charged_classifier', 'advisor', 'image')) not valid`.execute(
    database,
  );
}
