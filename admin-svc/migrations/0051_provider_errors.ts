/** The provider error of a failed turn. Columns without a default change no row, so records can be stored meanwhile. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`alter table turns add column if not exists provider_error text, add column if not exists provider_code text`.execute(
    database,
  );
}
