/** Runs a transaction, and repeats it after a conflict with another one. */
import type { Kysely, Transaction } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../database.ts";
import { isConflict } from "./failure.ts";

const retries = 3;

/**
 * Runs work in a transaction, or in the current transaction if there is one. The isolation level is always read
 * committed: statements lock the rows that decide, and read them again after waiting.
 */
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
