/** Lists a page at a time. */
import type { Kysely, Transaction } from "kysely";
import type { Database } from "./database.ts";

export interface Page {
  /** Rows to leave out at the beginning. */
  readonly offset: number;
  /** Rows to read at most. */
  readonly limit: number;
}

/** Some rows, and how many there are on all pages. */
export interface Paged<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Several reads that see the same state, so that a page and its total agree. */
export function readTogether<Result>(
  database: Kysely<Database>,
  read: (snapshot: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  return database.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(read);
}
