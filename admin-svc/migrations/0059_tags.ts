/**
 * Tags of turns and of keys, and tags required by workspaces. Columns without a default change no row, so records can
 * be stored meanwhile.
 */
import { type Kysely, sql } from "kysely";
import { allTurns } from "./0052_ledger.ts";

export async function up(database: Kysely<unknown>): Promise<void> {
  for (const table of ["ledger", "turns", "usage_records"]) {
    await sql`alter table ${sql.table(table)} add column tags jsonb`.execute(database);
  }
  await sql`create or replace view all_turns as ${allTurns(["tags"])}`.execute(database);
  // Tags of a key are text, in the given order.
  await sql`alter table api_keys add column tags text`.execute(database);
  await sql`alter table workspaces add column required_tags text`.execute(database);
}
