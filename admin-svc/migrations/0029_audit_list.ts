/** Indexes of the audit log in its list order, for one workspace and for all. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`create index audit_log_time on audit_log (at, workspace_id, sequence)`.execute(database);
  await sql`create index audit_log_workspace on audit_log (workspace_id, at, sequence)`.execute(database);
}
