/** The time of a workspace's deletion. Its row stays, because records and the audit log refer to it. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table workspaces add column deleted_at timestamptz`.execute(database);
}
