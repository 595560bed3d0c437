/**
 * Migrates a database to the schema of this build while other builds serve from it. Any number of processes may start at once: each migration either runs
 * in a separate transaction, where an advisory lock lets one process work, or is repeatable and runs outside of a transaction.
 */
import type { LogFields } from "@sluice/proto/lib/log/log.js";
import { type Kysely, type Transaction, sql } from "kysely";
import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../database.ts";
import { migrations } from "../../migrations/index.ts";
import { isLockRefused } from "./failure.ts";
import { grantNewTables } from "./roles.ts";

/** Error for a database that a later build has migrated. */
export class NewerSchemaError extends Error {
  override readonly name = "NewerSchemaError";
  constructor(migration: string) {
    super(`The database's schema is newer than this build: it has migration ${migration}. Start a later build.`);
  }
}

interface Wait extends LogFields {
  /** Time since the last migration was applied. */
  readonly seconds: number;
  readonly for: "another process" | "statements";
}

/** Receives the progress of a migration, for the log and the terminal. */
export interface MigrationLog {
  info(facts: object, text: string): void;
  warn(facts: Wait, text: string): void;
}

const silent: MigrationLog = { info: () => {}, warn: () => {} };

/** Number of the advisory lock, shared with builds that migrated by Kysely's migrator. */
export const migrationLock = 3_853_314_791_062_309_107n;

/**
 * Wait of a migration for a lock on a table. Meanwhile, later statements on the table wait behind it, and these give up
 * after 2 s (`readConnectionLimits`). The time is also below the server's `deadlock_timeout` of a second, after which
 * the server would end one of two statements waiting for each other.
 */
const lockTimeoutMs = 800;

/** Pause between attempts, in which the statements that waited behind a migration can run. */
const pauseMs = 700;

/** Interval of checks for the end of another process's migration. */
const pollMs = 100;

/** Time in milliseconds after which a wait is logged; shorter than the first attempt's wait for a lock. */
const reportAfterMs = 700;
const reportEveryMs = 10_000;

/** Applies all missing migrations. @throws NewerSchemaError when a later build has migrated the database */
export async function migrate(database: Kysely<Database>, log: MigrationLog = silent): Promise<void> {
  const pending = await pendingMigrations(database);
  if (pending.length === 0) return;
  const wait = waiting(log);
  log.info({ pending: pending.length, last: pending.at(-1) }, "migrating the database");
  for (let step: Step = "applied"; step !== "done"; ) {
    const [next] = await pendingMigrations(database);
    const isOnline = next !== undefined && migrations[next]?.isOnline === true;
    const applied = isOnline ? applyOnline(database) : database.transaction().execute(applyNext);
    step = await applied.catch(lockRefused);
    await wait(step);
  }
  log.info({ last: pending.at(-1) }, "the database is migrated");
}

type Step = "applied" | "done" | Wait["for"];

/** Applies the first missing migration within a transaction. */
async function applyNext(transaction: Transaction<Database>): Promise<Step> {
  const { rows } = await sql<{ mine: boolean }>`
    select pg_try_advisory_xact_lock(${sql.lit(migrationLock)}) as mine`.execute(transaction);
  if (rows[0]?.mine !== true) return "another process";
  const [name] = await pendingMigrations(transaction);
  const migration = name === undefined ? undefined : migrations[name];
  if (migration === undefined) return "done";
  // An online migration runs elsewhere. It is next here only if another process has just applied the preceding
  // migration.
  if (migration.isOnline === true) return "applied";
  await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(transaction);
  await migration.up(transaction);
  await grantNewTables(transaction);
  await sql`
    create table if not exists kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(
    transaction,
  );
  await noteApplied(transaction, name);
  return "applied";
}

/** Applies the first missing migration outside of a transaction, while the session holds the migration lock. */
function applyOnline(database: Kysely<Database>): Promise<Step> {
  return database.connection().execute(async (session) => {
    const { rows } = await sql<{ mine: boolean }>`
      select pg_try_advisory_lock(${sql.lit(migrationLock)}) as mine`.execute(session);
    if (rows[0]?.mine !== true) return "another process";
    try {
      const [name] = await pendingMigrations(session);
      const migration = name === undefined ? undefined : migrations[name];
      if (migration?.isOnline !== true) return "applied";
      await migration.up(session);
      await noteApplied(session, name);
      return "applied";
    } finally {
      await sql`select pg_advisory_unlock(${sql.lit(migrationLock)})`.execute(session);
    }
  });
}

const noteApplied = (database: Kysely<Database>, name: string | undefined) =>
  sql`insert into kysely_migration values (${name}, ${new Date().toISOString()})`.execute(database);

function lockRefused(error: unknown): Step {
  if (isLockRefused(error)) return "statements";
  throw error;
}

/** Pauses before a step is retried, and logs a long wait. */
function waiting(log: MigrationLog): (step: Step) => Promise<void> {
  let since = performance.now();
  let nextReportAt = since + reportAfterMs;
  return async (step) => {
    const now = performance.now();
    if (step === "applied" || step === "done") {
      since = now;
      nextReportAt = now + reportAfterMs;
      return;
    }
    if (now > nextReportAt) {
      nextReportAt = now + reportEveryMs;
      log.warn({ seconds: Math.round((now - since) / 1_000), for: step }, "a migration waits, and is tried again");
    }
    await delay(step === "statements" ? pauseMs : pollMs);
  };
}

/** Whether the database has all migrations of this build. */
export const isMigrated = async (database: Kysely<Database>): Promise<boolean> =>
  (await pendingMigrations(database)).length === 0;

/** Names of the migrations that the database lacks, in their order. @throws NewerSchemaError */
async function pendingMigrations(database: Kysely<Database>): Promise<readonly string[]> {
  // Reads `pg_class` because `to_regclass` may answer from a cache of the session, which lacks another process's latest
  // commit.
  const table = await sql<{ found: boolean }>`
    select exists (
      select from pg_class where relname = 'kysely_migration' and pg_table_is_visible(oid)
    ) as found`.execute(database);
  if (table.rows[0]?.found !== true) return Object.keys(migrations);
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(database);
  const unknown = rows.find(({ name }) => !(name in migrations));
  if (unknown) throw new NewerSchemaError(unknown.name);
  const applied = new Set(rows.map(({ name }) => name));
  return Object.keys(migrations).filter((name) => !applied.has(name));
}
