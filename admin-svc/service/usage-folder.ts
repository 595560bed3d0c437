/**
 * Keeps the sums by hour and day up to date with the ledger: a tenth of a second after a batch of this process, and
 * every second for batches whose process died. Sums of end users are updated later, many turns at once, and closed
 * hours are added to the usage cube in parts.
 */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { Kysely } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../store/database.ts";
import { UnfilledPeriod, closeNext } from "../store/ledger/cube.ts";
import type { CubePeriod } from "../store/ledger/cube-parts.ts";
import { type FoldOutcome, hasChanges, tryFold } from "../store/ledger/fold.ts";
import { UnsummedUsers, type UserPortion, leastRows, rowsOfPortion, sumUsers } from "../store/ledger/user-sums.ts";
import { Pause } from "../store/pause.ts";

const pollMs = 1_000;
/** Time in milliseconds in which batches are gathered, so they share updates of rows. */
const gatherMs = 100;

/**
 * Delay in milliseconds after the end of an hour until it is added to the cube: most of its records have arrived; later
 * ones are added one by one.
 */
const lateMs = 5 * 60_000;
/** Interval in milliseconds of checks whether an hour can be added to the cube. */
const closedMs = 60_000;
/** Interval in milliseconds of checks whether enough turns wait to be added to the sums of end users. */
const usersMs = 10_000;
/** Time in milliseconds for which a failed period or portion is skipped, while others are added. */
const failedMs = 10 * 60_000;
/** Number of skipped periods beyond which the next period is tried only after the usual interval. */
const maxFailed = 3;

interface Failed {
  readonly triedAt: number;
}
const isLeftOut = ({ triedAt }: Failed): boolean => performance.now() < triedAt + failedMs;

export class UsageFolder {
  readonly #database: Kysely<Database>;
  readonly #log: Logger;
  #stopped = false;
  #failing = false;
  #closesAt = 0;
  #failed: readonly (CubePeriod & Failed)[] = [];
  #usersAt = 0;
  /** Whether to add waiting turns without a pause until none is left. */
  #addsUsers = false;
  /**
   * Whether sums of end users must be updated with each batch: an admin-svc of an earlier build may serve reports that
   * expect them to be complete.
   */
  #usersFollow = false;
  #rowsOfPortion = rowsOfPortion;
  #failedUsers: readonly (UserPortion & Failed)[] = [];
  readonly #pause = new Pause(pollMs);
  #running: Promise<void> | undefined;

  constructor(database: Kysely<Database>, log: Logger) {
    this.#database = database;
    this.#log = log;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Requests an update; called after a batch has been stored. */
  poke(): void {
    this.#pause.poke();
  }

  /** Stops the worker. Remaining changes are left to other processes or the next start. */
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
      while (folded === "some" && !this.#stopped) {
        folded = await tryFold(this.#database, () => (this.#usersFollow = true));
        if (this.#usersFollow && this.#failedUsers.length <= maxFailed) await this.#addUsers();
      }
      // The other process, which holds the lock, may have started before the last batch was stored.
      if (folded === "locked") this.#pause.poke();
      if (!this.#stopped && performance.now() >= this.#usersAt) await this.#addUsers();
      if (!this.#stopped && performance.now() >= this.#closesAt) await this.#close();
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) this.#log.warn({ err: error }, "sums of usage cannot be brought up to date");
      this.#failing = true;
    }
  }

  /** Adds a portion to the sums of end users, and schedules the next call soon if more may be waiting. */
  async #addUsers(): Promise<void> {
    const now = performance.now();
    this.#usersAt = now + usersMs;
    this.#failedUsers = this.#failedUsers.filter(isLeftOut);
    try {
      const query = { without: this.#failedUsers, maxRows: this.#rowsOfPortion };
      const step = await sumUsers(this.#database, { ...query, ...(this.#addsUsers && { maxWaiting: 0 }) });
      this.#addsUsers = step === "some";
      if (step !== "locked") this.#usersFollow = false;
      if (step === "some" || step === "last") this.#rowsOfPortion = Math.min(2 * this.#rowsOfPortion, rowsOfPortion);
      if (!this.#addsUsers && !this.#usersFollow) return;
    } catch (error) {
      if (!(error instanceof UnsummedUsers)) throw error;
      this.#failedUsers = [...this.#failedUsers, { ...error.portion, triedAt: now }];
      this.#rowsOfPortion = Math.max(Math.floor(this.#rowsOfPortion / 2), leastRows);
      this.#log.warn({ err: error.cause, ...error.portion }, "turns cannot be added to the sums of end users");
      if (this.#failedUsers.length > maxFailed) return;
    }
    this.#usersAt = 0;
    this.#pause.poke();
  }

  /** Adds a part of an hour or a day to the cube, and schedules the next call soon if more may be waiting. */
  async #close(): Promise<void> {
    const now = performance.now();
    this.#closesAt = now + closedMs;
    this.#failed = this.#failed.filter(isLeftOut);
    try {
      const query = { before: new Date(Date.now() - lateMs), without: this.#failed };
      if ((await closeNext(this.#database, query)) !== "some") return;
    } catch (error) {
      if (!(error instanceof UnfilledPeriod)) throw error;
      this.#noteFailed(error, now);
      if (this.#failed.length > maxFailed) return;
    }
    this.#closesAt = 0;
    this.#pause.poke();
  }

  #noteFailed({ cause, period }: UnfilledPeriod, triedAt: number): void {
    this.#failed = [...this.#failed, { ...period, triedAt }];
    const start = period.start.toISOString();
    const named = period.isDay ? { day: start.slice(0, 10) } : { hour: start.slice(0, 16) };
    this.#log.warn({ err: cause, ...named }, "an hour or a day cannot be added to the cube of usage");
  }
}
