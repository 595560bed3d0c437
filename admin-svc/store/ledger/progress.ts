/** Progress of the conversion of older records. A row of `backfills` means unfinished work. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";

export type BackfillName = "turns" | "activity" | "key_totals";

/** Time from which on records are converted; undefined when all are. */
export async function backfilledSince(
  database: Kysely<Database>,
  name: BackfillName,
): Promise<RawBuilder<Date> | undefined> {
  const { rows } = await sql<{ reached: string }>`
    select reached::text as reached from backfills where name = ${name}`.execute(database);
  const [row] = rows;
  return row && sql<Date>`${row.reached}::timestamptz`;
}
