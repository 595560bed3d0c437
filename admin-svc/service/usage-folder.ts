/** Keeps the sums by hour and day up to date with the ledger: a tenth of a second after a batch, and every second for batches of dead processes. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Kysely } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../store/database.ts";
import { type FoldOutcome, hasChanges, tryFold } from "../store/ledger/fold.ts";
import { Pause } from "../store/pause.ts";

const pollMs = 1_000;
/** Batches stored during this time share their row updates. */
const gatherMs = 100;

export class UsageFolder {
  readonly #database: Kysely<Database>;
  readonly #log: Logger;
  #stopped = false;
  #failing = false;
  readonly #pause = new Pause(pollMs);
  #running: Promise<void> | undefined;

  constructor(database: Kysely<Database>, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Call it after a batch has been stored. */
  poke(): void {
    this.#pause.poke();
  }

  /** Pending changes are left to other processes and to the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.poke();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await this.#pause.wait();
      await delay(gatherMs);
      this.#pause.clear();
      await this.#fold();
    }
  }

  async #fold(): Promise<void> {
    try {
      let folded: FoldOutcome = (await hasChanges(this.#database)) ? "some" : "all";
      while (folded === "some" && !this.#stopped) folded = await tryFold(this.#database);
      // Another process may have begun before the last batch was stored.
      if (folded === "locked") this.#pause.poke();
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) this.#log.warn({ err: error }, "sums of usage cannot be brought up to date");
      this.#failing = true;
    }
  }
}
