/** Two processes of admin-svc, reduced to deliveries to sinks, on one database and with a clock moved by the test. */
import { Exports } from "@sluice/admin-svc/exports/exports.js";
import { Alerts } from "@sluice/admin-svc/sinks/alerts.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { createKey } from "@sluice/admin-svc/store/keys.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import type { TurnRecord, UsageRecord } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type SinkSettings, noSinks } from "@sluice/proto/config/sinks/sinks.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { Kysely } from "kysely";
import { createMigratedDatabase } from "../../support/database.ts";
import { testAuthor } from "../installation.ts";

const limits = { ...writeConnectionLimits, connectTimeoutMs: 60_000, statementTimeoutMs: 0, lockTimeoutMs: 0 };

export interface Replica {
  readonly alerts: Alerts;
  readonly exports: Exports;
  readonly registry: Registry;
  /** Stores records like a call over gRPC. */
  record(records: readonly UsageRecord[], turns?: readonly TurnRecord[]): Promise<number>;
}

export class Replicas {
  settings: SinkSettings = noSinks;
  readonly database: Kysely<Database>;
  readonly databaseUrl: string;
  readonly both: readonly [Replica, Replica];
  readonly #drop: () => Promise<void>;
  readonly #pools: Kysely<Database>[] = [];
  #aheadMs = 0;

  private constructor(databaseUrl: string, drop: () => Promise<void>) {
    this.databaseUrl = databaseUrl;
    this.#drop = drop;
    this.both = [this.#open(), this.#open()];
    this.database = this.#pools[0] as Kysely<Database>;
  }

  static async open(): Promise<Replicas> {
    const created = await createMigratedDatabase();
    return new Replicas(created.url, () => created.drop());
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
  }

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  /** Delivers all due alerts, in both processes at the same time. */
  async deliver(): Promise<void> {
    await Promise.all(this.both.map(({ alerts }) => alerts.deliver()));
  }

  /** Exports all due turns, in both processes at the same time. */
  async export(): Promise<void> {
    await Promise.all(this.both.map(({ exports }) => exports.deliver()));
  }

  /** Adds a key. @returns its hash */
  async addKey(settings: {
    readonly name: string;
    readonly limit_usd?: string;
    readonly limit_reset?: "monthly";
  }): Promise<string> {
    const key = mintKey(KeyKind.INFERENCE);
    await createKey(this.database, testAuthor(), { ...settings, key });
    return hashKey(key);
  }

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.destroy()));
    await this.#drop();
  }

  #open(): Replica {
    const database = openDatabase(this.databaseUrl, limits, () => {});
    this.#pools.push(database);
    const registry = new Registry();
    const now = () => this.now();
    const parts = { database, settings: () => this.settings, now, log: openLog("test", "silent"), registry };
    const [alerts, exports] = [new Alerts(parts), new Exports(parts)];
    const record: Replica["record"] = (records, turns = []) =>
      insertUsage(database, records.map(toRow), turns.map(toTurnRow), alerts.around);
    return { alerts, exports, registry, record };
  }
}
