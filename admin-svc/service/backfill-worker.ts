/**
 * Converts existing records after an upgrade, portion by portion. Each pause is as long as the preceding portion took,
 * which leaves the database connection half of its time.
 */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { type Registry, labelledGauge } from "@sluice/proto/lib/metrics/metrics.js";
import type { Kysely } from "kysely";
import type { Database } from "../store/database.ts";
import { isPermissionDenied } from "../store/postgres/failure.ts";
import { backfills, pendingBackfills } from "../store/ledger/backfills.ts";
import type { BackfillName } from "../store/ledger/progress.ts";
import { Pause } from "../store/pause.ts";

/** Pause after a failure, and between checks of another process's progress. */
const retryMs = 5_000;
/** Interval of progress messages in the log. */
const reportEveryMs = 10_000;

export interface BackfillDeps {
  /** Opens connections with the rights of the schema's owner; they are closed when all work is done. */
  readonly open: () => Kysely<Database>;
  readonly log: Logger;
  readonly registry: Registry;
}

export class BackfillWorker {
  readonly #parts: BackfillDeps;
  #pending: readonly BackfillName[] = [];
  #stopped = false;
  #pause = new Pause(retryMs);
  #toldAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(parts: BackfillDeps) {
    this.#parts = parts;
    const pending = {
      name: "sluice_backfills_pending",
      help: "1 while sums or rows of records of before an upgrade are being filled.",
      labelNames: ["name"],
    } as const;
    labelledGauge(parts.registry, pending, (set) => {
      for (const name of Object.keys(backfills) as BackfillName[]) set({ name }, this.#pending.includes(name) ? 1 : 0);
    });
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pause.poke();
    await this.#running;
  }

  async #run(): Promise<void> {
    const database = this.#parts.open();
    try {
      while (!this.#stopped && !(await this.#fillPortion(database)));
    } finally {
      await database.destroy();
    }
  }

  /** @returns whether all work is done */
  async #fillPortion(database: Kysely<Database>): Promise<boolean> {
    const { log } = this.#parts;
    const began = performance.now();
    try {
      this.#pending = await pendingBackfills(database);
      const [name] = this.#pending;
      if (name === undefined) return true;
      const reached = await backfills[name](database);
      if (reached === undefined) log.info({ backfill: name }, "the past is filled");
      else if (began > this.#toldAt + reportEveryMs) {
        this.#toldAt = began;
        log.info({ backfill: name, reached }, "filling the past of an upgrade; reports of it are not complete or slow");
      }
      await this.#wait(performance.now() - began);
    } catch (error) {
      if (isPermissionDenied(error)) {
        log.warn(
          "the database user cannot fill the past after the upgrade: run admin ledger repair as the owner of the schema",
        );
        return true;
      }
      log.warn({ err: error }, "the past cannot be filled, and is tried again");
      await this.#wait(retryMs);
    }
    return false;
  }

  async #wait(ms: number): Promise<void> {
    if (this.#stopped) return;
    this.#pause = new Pause(ms);
    await this.#pause.wait();
  }
}
