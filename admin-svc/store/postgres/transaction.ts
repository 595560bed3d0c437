/** Runs a transaction, and repeats it after a conflict with another transaction. */
import type { Kysely, Transaction } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../database.ts";
import { isConflict } from "./failure.ts";

const retries = 3;

/** Runs within an open transaction. Read committed, whatever the server's default: statements lock the rows they decide on, and read again after waiting. */
export async function runInTransaction<Result>(
  database: Kysely<Database>,
  work: (transaction: Transaction<Database>) => Promise<Result>,
): Promise<Result> {
  if (database.isTransaction) return work(database as Transaction<Database>);
  for (let attempt = 0; ; attempt++) {
    try {
      return await database.transaction().setIsolationLevel("read committed").execute(work);
    } catch (error) {
      if (attempt >= retries || !isConflict(error)) throw error;
      await delay(Math.random() * 20 * 2 ** attempt);
    }
  }
}
