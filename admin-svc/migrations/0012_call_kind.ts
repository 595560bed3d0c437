/** Why a call was made: those of the house's own are on record, and nobody's key pays for them. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      add column kind text not null default 'primary' check (kind in ('primary', 'judge'))`.execute(database);
}
