/** Networks from which a key may be used. A column without a default changes no row. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys add column allowed_networks text[]`.execute(database);
}
