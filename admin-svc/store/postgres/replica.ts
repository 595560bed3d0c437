/**
 * A standby server of the database, for reports of usage records. Until it has all migrations of this build, and for a
 * while after an error, reports read the primary instead: a slow report is better than none.
 */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Kysely } from "kysely";
import type { Database } from "../database.ts";
import { isStatementTimeout } from "./failure.ts";
import { isMigrated } from "./migrate.ts";
import { type SessionOptions, openDatabase, reportConnectionLimits } from "./postgres.ts";
import { requireSessions } from "./sessions.ts";

/** Time in milliseconds without another attempt after an error, because each attempt may wait for a connection. */
const restMs = 10_000;

export interface ReplicaOptions {
  readonly url: string;
  readonly session: SessionOptions;
  readonly log: Logger;
}

export class Replica {
  readonly #options: ReplicaOptions;
  readonly #database: Kysely<Database>;
  #isChecked = false;
  #restsUntil = 0;

  constructor(options: ReplicaOptions) {
    const { url, session, log } = options;
    this.#options = options;
    this.#database = openDatabase(
      url,
      reportConnectionLimits,
      (error) => log.debug({ err: error }, "connection lost"),
      session,
    );
  }

  /** Runs reads on one connection of the standby, or else of the primary. */
  async read<Result>(
    primary: Kysely<Database>,
    work: (database: Kysely<Database>) => Promise<Result>,
  ): Promise<Result> {
    if (performance.now() >= this.#restsUntil) {
      try {
        await this.#check();
        return await this.#database.connection().execute(work);
      } catch (error) {
        if (error instanceof Fault || isStatementTimeout(error)) throw error;
        this.#restsUntil = performance.now() + restMs;
        this.#options.log.warn({ err: error }, "the read replica cannot be used, so reports read the primary");
      }
    }
    return primary.connection().execute(work);
  }

  destroy(): Promise<void> {
    return this.#database.destroy();
  }

  async #check(): Promise<void> {
    if (this.#isChecked) return;
    await requireSessions(this.#options.url, "DATABASE_READ_URL");
    if (!(await isMigrated(this.#database))) throw new Error("the replica lacks a migration of this build");
    this.#isChecked = true;
  }
}
