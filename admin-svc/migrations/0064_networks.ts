/**
 * Networks from which a key may be used, and client addresses in the audit log. A column without a default changes no
 * row.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column allowed_networks text[]`.execute(database);
  await sql`alter table audit_log add column address text`.execute(database);
}
