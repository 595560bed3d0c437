/**
 * Sequence numbers of turn records that a process has not delivered so far. If such records arrive later, they are
 * stored: a database restored from a backup lacks the records since the backup.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table turn_deliveries add column missing int8multirange not null default '{}'`.execute(database);
}
