/** A database is migrated while statements of the build before hold its tables, and while other processes migrate it. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { migrations } from "@sluice/admin-svc/migrations/index.js";
import { type MigrationLog, migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import {
  migrationConnectionLimits,
  openDatabase,
  readConnectionLimits,
} from "@sluice/admin-svc/store/postgres/postgres.js";
import { runtimeRole } from "@sluice/admin-svc/store/postgres/roles.js";
import { type Kysely, Migrator, sql } from "kysely";
import pg from "pg";
import { createDatabase } from "../../support/database.ts";
import { fillPast } from "../../support/ledger/past.ts";
import { eventually } from "../../support/processes.ts";

let created: Awaited<ReturnType<typeof createDatabase>>;
let database: Kysely<Database>;
let holder: pg.Client;
beforeEach(async () => {
  created = await createDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
  holder = new pg.Client({ connectionString: created.url });
  await holder.connect();
});
afterEach(async () => {
  await holder.end();
  await database.destroy();
  await created.drop();
});

/** Migrates like an earlier build, with one lock on the whole database for all migrations. */
async function migrateTo(name: string): Promise<void> {
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateTo(name);
  if (error !== undefined) throw error;
}

const lastApplied = async (): Promise<string | undefined> => {
  const { rows } = await sql<{ name: string }>`select max(name) as name from kysely_migration`.execute(database);
  return rows[0]?.name;
};
/** The rights of the role at a moment when `usage_changes` was not there yet. */
const servingRole = `
  do $$ begin create role ${runtimeRole} nologin; exception when duplicate_object or unique_violation then null; end $$;
  grant select on workspaces, usage_sums, turns to ${runtimeRole}`;
const insertCall = `
  insert into usage_records (turn_id, attempt, boot_id, sequence, instance, workspace_id, key_hash, generation_id, request_id, opened_at,
    duration_ms, model, provider, upstream_model, service_tier, status, http_status, is_estimated, streamed)
  values (gen_random_uuid(), 1, gen_random_uuid(), 1, 'i', '${defaultWorkspaceId}', 'k', 'g', 'r', now(), 1, 'm', 'p', 'u', '', 'completed', 200,
    false, false)`;
const newest = Object.keys(migrations).at(-1);

interface Migrating {
  /** Lines of the log about waiting for a lock. */
  readonly waits: object[];
  readonly done: Promise<void>;
}

/** Migrates over its own connections, as a separate process does. */
function startMigrating(): Migrating {
  const waits: object[] = [];
  const log: MigrationLog = { info: () => {}, warn: (facts, text) => void waits.push({ ...facts, text }) };
  return { waits, done: migrateApart(log) };
}

async function migrateApart(log: MigrationLog): Promise<void> {
  const own = openDatabase(created.url, migrationConnectionLimits, () => {});
  try {
    await migrate(own, log);
  } finally {
    await own.destroy();
  }
}

/** Resolves when a migration waits for this table. */
const untilWaitsFor = (table: string): Promise<unknown> =>
  eventually(async () => {
    const { rows } = await sql`
      select from pg_locks where relation = ${table}::regclass and not granted`.execute(database);
    return rows.length > 0;
  });

test("statements behind a blocked migration continue, and the migration runs once its table is free", async () => {
  await migrateTo("0023_ocr_calls");
  // A backup holds this kind of lock on every table.
  await holder.query("begin; lock table usage_records in access share mode");
  const migrating = startMigrating();
  await untilWaitsFor("usage_records");
  const serving = openDatabase(created.url, readConnectionLimits, () => {});
  await sql`delete from usage_records`.execute(serving);
  await serving.destroy();
  await eventually(() => migrating.waits.length > 0);
  expect(migrating.waits[0]).toMatchObject({ text: "a migration waits, and is tried again", for: "statements" });
  expect(await lastApplied()).toBe("0023_ocr_calls");
  await holder.query("commit");
  await migrating.done;
  expect(await lastApplied()).toBe(newest);
});

test("a call recorded during a migration is in its turn once earlier records have been added to the turns", async () => {
  await migrateTo("0026_task");
  await holder.query(`begin; ${insertCall}`);
  const migrating = startMigrating();
  await untilWaitsFor("usage_records");
  await holder.query("commit");
  await migrating.done;
  await fillPast(database);
  const turns = await database.selectFrom("turns").select("generation_id").execute();
  expect(turns).toEqual([{ generation_id: "g" }]);
});

test("a writer of several tables and two migrating processes never deadlock", async () => {
  await migrateTo("0031_console_sessions");
  await sql.raw(servingRole).execute(database);
  await holder.query("begin; lock table api_keys in row exclusive mode");
  const starting = [startMigrating(), startMigrating()];
  // Migration 0042 waits for `api_keys`; earlier ones have changed `turns`, and replaced `usage_sums`.
  await untilWaitsFor("api_keys");
  await holder.query("set local lock_timeout = '4s'");
  await holder.query("lock table turns in row exclusive mode");
  await holder.query(`set local role ${runtimeRole}`);
  await holder.query("update usage_sums set requests = requests");
  await holder.query("delete from usage_changes");
  await eventually(() => starting.every(({ waits }) => waits.length > 0));
  await holder.query("commit");
  await Promise.all(starting.map(({ done }) => done));
  expect(await lastApplied()).toBe(newest);
});

test("a new build waits for an old build with a single long migration", async () => {
  await migrateTo("0031_console_sessions");
  await holder.query("select pg_advisory_lock(3853314791062309107)");
  const migrating = startMigrating();
  await eventually(() => migrating.waits.length > 0);
  expect(migrating.waits[0]).toMatchObject({ for: "another process" });
  expect(await lastApplied()).toBe("0031_console_sessions");
  await holder.query("select pg_advisory_unlock(3853314791062309107)");
  await migrating.done;
  expect(await lastApplied()).toBe(newest);
});
