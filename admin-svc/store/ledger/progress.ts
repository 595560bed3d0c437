/** Progress of work on records stored before a migration. A row of `backfills` stands for unfinished work. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";

export type BackfillName = "turns" | "activity" | "key_totals";

/** The time from which the work is done; undefined when all of it is. */
export async function backfilledSince(
  database: Kysely<Database>,
  name: BackfillName,
): Promise<RawBuilder<Date> | undefined> {
  const { rows } = await sql<{ reached: string }>`
    select reached::text as reached from backfills where name = ${name}`.execute(database);
  const [row] = rows;
  return row && sql<Date>`${row.reached}::timestamptz`;
}
