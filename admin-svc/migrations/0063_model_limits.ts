/** Rate limits by model for keys and workspaces. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const table of ["api_keys", "workspaces"]) {
    await sql`alter table ${sql.table(table)} add column model_limits jsonb`.execute(database);
  }
}
