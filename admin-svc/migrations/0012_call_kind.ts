/** Kind of each call: the gateway's own calls are recorded, and no key pays for them. */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      add column kind text not null default 'primary' check (kind in ('primary', 'judge'))`.execute(database);
}
