/**
 * Removes records and sums older than the retention periods of the configuration file, once an hour, in one process at
 * a time.
 */
import type { RetentionSettings } from "@sluice/proto/config/sinks/retention.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { Counter, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { type Kysely, sql } from "kysely";
import type { Database } from "../store/database.ts";
import { pendingBackfills } from "../store/ledger/backfills.ts";
import { earliestDay, holderOf, removeDay } from "../store/ledger/days.ts";
import { type Removal, removalOfCalls, removalOfSums, removalOfTurns } from "../store/ledger/expired.ts";
import { beginningOf, keepLedgerFor } from "../store/ledger/retention.ts";
import { isPermissionDenied } from "../store/postgres/failure.ts";

/**
 * Pauses between rounds: an hour, since another day expires only once a day but may be held back by an export; a minute
 * after a failure.
 */
const everyMs = 3_600_000;
const retryMs = 60_000;

/** Lock number shared by all builds; any number would do. */
const retentionLock = 7_340_155_307n;

export interface RetentionDeps {
  /** Opens a connection with the rights of the schema's owner for one round. */
  readonly open: () => Kysely<Database>;
  readonly settings: () => RetentionSettings;
  /** Names of the currently configured exports. */
  readonly exports: () => readonly string[];
  readonly log: Logger;
  readonly registry: Registry;
}

export class RetentionWorker {
  readonly #parts: RetentionDeps;
  readonly #removed: Counter<"from">;
  /** Settings of the last round as JSON. */
  #known = "{}";
  #dueAt = Infinity;
  #stopped = false;

  constructor(parts: RetentionDeps) {
    this.#parts = parts;
    this.#removed = new Counter({
      name: "sluice_retention_removed_total",
      help: "Records and sums removed because of their age.",
      labelNames: ["from"],
      registers: [parts.registry],
    });
  }

  /** Stops the worker after the current portion. */
  stop(): void {
    this.#stopped = true;
  }

  /** Removes expired records. Changed settings take effect at once. */
  async run(): Promise<void> {
    const settings = this.#parts.settings();
    const text = JSON.stringify(settings);
    if (this.#stopped || (text === this.#known && performance.now() < this.#dueAt)) return;
    this.#known = text;
    this.#dueAt = performance.now() + retryMs;
    const isOff = settings.ledger === undefined && settings.sums === undefined;
    if (!isOff) await this.#runAsOwner(settings);
    this.#dueAt = isOff ? Infinity : performance.now() + everyMs;
  }

  async #runAsOwner(settings: RetentionSettings): Promise<void> {
    const database = this.#parts.open();
    try {
      // The lock belongs to a session, so the round has a single connection.
      await database.connection().execute((session) => this.#runAlone(session, settings));
    } catch (error) {
      if (!isPermissionDenied(error)) throw error;
      this.#parts.log.warn(
        "the database user cannot remove old records: run admin retention run as the owner of the schema",
      );
    } finally {
      await database.destroy();
    }
  }

  async #runAlone(session: Kysely<Database>, { ledger, sums }: RetentionSettings): Promise<void> {
    const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_lock(${retentionLock}) as locked`.execute(
      session,
    );
    // While an upgrade still computes totals from earlier records, no record is removed.
    if (rows[0]?.locked !== true || (await pendingBackfills(session)).length > 0) return;
    if (ledger !== undefined) await this.#removeRecords(session, await keepLedgerFor(session, ledger));
    if (sums !== undefined) await this.#removeAll("sums", removalOfSums(session, await beginningOf(session, sums)));
  }

  async #removeRecords(session: Kysely<Database>, before: Date): Promise<void> {
    const exports = this.#parts.exports();
    await this.#removeDays(session, before, exports);
    await this.#removeAll("calls", removalOfCalls(session, before));
    await this.#removeAll("turns", removalOfTurns(session, before, exports));
  }

  /** Removes expired days, and stops at the first day whose rows are still needed. */
  async #removeDays(session: Kysely<Database>, before: Date, exports: readonly string[]): Promise<void> {
    const { log } = this.#parts;
    while (!this.#stopped) {
      const day = await earliestDay(session, before);
      if (day === undefined) return;
      const heldBy = await holderOf(session, day, exports);
      if (heldBy !== undefined) {
        log.warn({ day, held_by: heldBy }, "a day of the ledger is past its age, and kept until its turns are taken");
        return;
      }
      const { calls, turns } = await removeDay(session, day);
      this.#count("turns", turns);
      this.#count("calls", calls);
      log.info({ day, removed: { turns, calls } }, "a day of the ledger was removed");
    }
  }

  async #removeAll(from: "calls" | "turns" | "sums", remove: Removal): Promise<void> {
    let count = 0;
    while (!this.#stopped) {
      const removed = await remove();
      if (removed === 0) break;
      this.#count(from, removed);
      count += removed;
    }
    if (count > 0) this.#parts.log.info({ removed: { [from]: count } }, "old records were removed");
  }

  #count(from: "calls" | "turns" | "sums", by: number): void {
    this.#removed.labels({ from }).inc(by);
  }
}
