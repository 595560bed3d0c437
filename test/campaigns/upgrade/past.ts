/** Upgrades a database with records while records are written: how long a writer waits, and whether all records are there in the end. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrations } from "@sluice/admin-svc/migrations/index.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { startPostgres } from "@sluice/local/postgres.js";
import { type Kysely, Migrator, sql } from "kysely";
import { freePort } from "../../support/runner/free-ports.ts";
import { fillPast, insertPastCalls } from "../../support/ledger/past.ts";

export interface PastUpgrade {
  /** Longest time for storing one record, in milliseconds. */
  readonly worstWaitMs: number;
  /** Number of records stored during the upgrade. */
  readonly written: number;
  readonly records: number;
  readonly turns: number;
  readonly wrongSums: number;
  readonly migratedMs: number;
  readonly filledMs: number;
}

/** Inserts one record after the other until the work is done, like a build of migration 0018. */
async function writeDuring(
  database: Kysely<Database>,
  work: Promise<unknown>,
): Promise<{ worstWaitMs: number; written: number }> {
  let [worstWaitMs, written] = [0, 0];
  const done = new AbortController();
  const end = work.finally(() => done.abort());
  end.catch(() => {});
  while (!done.signal.aborted) {
    const began = performance.now();
    await sql`
      insert into usage_records (turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at, duration_ms, model,
        provider, upstream_model, service_tier, status, http_status, is_estimated, streamed)
      values (gen_random_uuid(), 1, '00000000-0000-4000-8000-00000000abce', ${written + 1}, 'old', ${defaultWorkspaceId}, ${"f".repeat(64)},
        ${`gen-during-${written}`}, 'r', now(), 1, 'm', 'p', 'u', '', 'completed', 200, false, false)`.execute(
      database,
    );
    await sql`
      insert into key_days (key_hash, day, cost_usd, attempts) values (${"f".repeat(64)}, (now() at time zone 'UTC')::date, 0, 1)
      on conflict (key_hash, day) do update set attempts = key_days.attempts + 1`.execute(database);
    await sql`
      insert into workspace_days (workspace_id, day, cost_usd, attempts) values (${defaultWorkspaceId}, (now() at time zone 'UTC')::date, 0, 1)
      on conflict (workspace_id, day) do update set attempts = workspace_days.attempts + 1`.execute(database);
    worstWaitMs = Math.max(worstWaitMs, performance.now() - began);
    written++;
  }
  await end;
  return { worstWaitMs, written };
}

/** @param url URL of an empty database @param calls number of records before the upgrade */
export async function upgradePastDatabase(url: string, calls: number): Promise<PastUpgrade> {
  const [database, writer] = [0, 1].map(() => openDatabase(url, migrationConnectionLimits, () => {})) as [
    Kysely<Database>,
    Kysely<Database>,
  ];
  try {
    const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
    const { error } = await migrator.migrateTo("0018_fusion_calls");
    if (error !== undefined) throw error;
    await insertPastCalls(database, calls);
    await sql`analyze`.execute(database);
    const began = performance.now();
    const during = await writeDuring(writer, migrate(database));
    const migrated = performance.now();
    await fillPast(database);
    const filled = performance.now();
    const { records, turns, wrongSums } = await ledgerState(database);
    return {
      ...during,
      records,
      turns,
      wrongSums: wrongSums.length,
      migratedMs: migrated - began,
      filledMs: filled - migrated,
    };
  } finally {
    await Promise.all([database.destroy(), writer.destroy()]);
  }
}

/** Upgrades a database on a server of its own. */
export async function upgradeOwnDatabase(calls: number): Promise<PastUpgrade> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-upgrade-"));
  try {
    const server = await startPostgres({
      dataDir: join(folder, "postgres"),
      port: await freePort(),
      log: join(folder, "postgres.log"),
    });
    try {
      return await upgradePastDatabase(server.url, calls);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
