/**
 * The clock of the database, by which processes of admin-svc coordinate deliveries, because their own clocks may
 * differ.
 */
import { type Kysely, sql } from "kysely";
import type { Database } from "../database.ts";

export class DatabaseClock {
  readonly #database: Kysely<Database>;
  /** Difference in milliseconds between the database's clock and the monotonic clock of this process. */
  #offsetMs = 0;

  constructor(database: Kysely<Database>) {
    this.#database = database;
  }

  /** Reads the database's clock. Call it before `now`, and again from time to time. */
  async read(): Promise<void> {
    const { rows } = await sql<{
      ms: number;
    }>`select extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(this.#database);
    this.#offsetMs = (rows[0]?.ms as number) - performance.now();
  }

  readonly now = (): Date => new Date(performance.now() + this.#offsetMs);
}
