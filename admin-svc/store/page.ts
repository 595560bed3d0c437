/** Pagination of lists. */
import type { Kysely, Transaction } from "kysely";
import type { Database } from "./database.ts";

export interface Page {
  /** Rows to skip at the beginning. */
  readonly offset: number;
  /** Maximum number of rows. */
  readonly limit: number;
}

/** The rows of a page, and the number of rows on all pages. */
export interface PagedRows<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Runs several reads on one snapshot, so a page and its total agree. */
export function readTogether<Result>(
  database: Kysely<Database>,
  read: (snapshot: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  return database.transaction().setIsolationLevel("repeatable read").setAccessMode("read only").execute(read);
}
