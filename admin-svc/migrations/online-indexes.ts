/** Creates indexes while records are written. */
import { type Kysely, sql } from "kysely";

/** Creates the missing indexes, outside of a transaction; may be repeated. @param indexes their definitions by name */
export async function makeIndexesOnline(
  database: Kysely<unknown>,
  indexes: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, definition] of Object.entries(indexes)) {
    const { rows } = await sql<{ valid: boolean }>`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${name})`.execute(database);
    if (rows[0]?.valid === true) continue;
    // An interrupted run leaves an invalid index, which is dropped and created again.
    if (rows[0]) await sql`drop index concurrently ${sql.id(name)}`.execute(database);
    await sql`create index concurrently ${sql.id(name)} ${sql.raw(definition)}`.execute(database);
  }
}
