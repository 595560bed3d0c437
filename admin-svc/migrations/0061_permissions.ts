/** Permissions of keys and workspaces: lists of the models, tools and other things that they may use. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const table of ["api_keys", "workspaces"]) {
    await sql`alter table ${sql.table(table)} add column permissions jsonb`.execute(database);
  }
}
