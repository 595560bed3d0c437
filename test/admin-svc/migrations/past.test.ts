/**
 * An upgrade of a database with records: no migration reads a table while writers wait for it, and a worker fills the new columns of earlier
 * records.
 */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { migrations } from "@sluice/admin-svc/migrations/index.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { pendingBackfills } from "@sluice/admin-svc/store/ledger/backfills.js";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { type Kysely, Migrator, sql } from "kysely";
import { type TestDatabase, createDatabase } from "../../support/database.ts";
import { eventually } from "../../support/processes.ts";
import { openInstallation } from "../installation.ts";
import { fillPast, insertPastCalls } from "../../support/ledger/past.ts";

const calls = 3_000;

let created: TestDatabase;
let database: Kysely<Database>;
beforeEach(async () => {
  created = await createDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
  await migrateTo("0018_fusion_calls");
  await insertPastCalls(database, calls);
});
afterEach(async () => {
  await database.destroy();
  await created.drop();
});

async function migrateTo(name: string, connected = database): Promise<void> {
  const migrator = new Migrator({ db: connected, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateTo(name);
  if (error !== undefined) throw error;
}

/** Tables that are written when a record is stored. */
const written = ["usage_records", "turns", "key_days", "workspace_days", "budget_reservations"];
const later = Object.keys(migrations).filter((name) => name > "0018_fusion_calls");

/** Rows read sequentially by the session, per table, as far as they are not yet in the shared statistics. */
async function rowsRead(transaction: Kysely<Database>): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ name: string; rows: number }>`
    select relname as name, seq_tup_read::int as rows from pg_stat_xact_user_tables where relname = any(${written}::text[])`.execute(
    transaction,
  );
  return new Map(rows.map(({ name, rows: count }) => [name, count]));
}

/** Tables locked by the transaction in a mode that blocks writers. */
async function lockedTables(transaction: Kysely<Database>): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct relname as name from pg_locks join pg_class on pg_class.oid = relation
    where pid = pg_backend_pid() and relname = any(${written}::text[])
      and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`.execute(transaction);
  return rows.map(({ name }) => name);
}

/** Some migrations read a few rows to check whether a table has any. */
const mostRows = 10;

test("no migration reads a table under a lock that blocks writers of records", async () => {
  await sql`analyze`.execute(database);
  for (const name of later) {
    const migration = migrations[name];
    if (migration === undefined) throw new Error(name);
    const found =
      migration.isOnline === true
        ? await migration.up(database).then(() => [])
        : await database.transaction().execute(async (transaction) => {
            const before = await rowsRead(transaction);
            await migration.up(transaction);
            const after = await rowsRead(transaction);
            const locked = await lockedTables(transaction);
            return locked.filter((table) => (after.get(table) ?? 0) - (before.get(table) ?? 0) > mostRows);
          });
    expect([name, found]).toEqual([name, []]);
  }
});

test("a migration outside of a transaction holds no lock that blocks writers", async () => {
  await migrateTo("0045_activity");
  const writer = openDatabase(created.url, { ...migrationConnectionLimits, lockTimeoutMs: 30_000 }, () => {});
  try {
    // The new index waits for this open transaction, and other writers go on.
    await writer
      .transaction()
      .execute(async (open) => {
        await sql`update usage_records set streamed = streamed where sequence = 1`.execute(open);
        const migrating = migrate(database);
        for (let waiting = 0; waiting === 0; ) {
          const { rows } = await sql<{ count: number }>`
          select count(*)::int as count from pg_locks where not granted`.execute(open);
          waiting = rows[0]?.count ?? 0;
        }
        await sql`update usage_records set streamed = streamed where sequence = 2`.execute(writer);
        return { migrating };
      })
      .then(({ migrating }) => migrating);
  } finally {
    await writer.destroy();
  }
});

/** The turns as migration 0027 built them at once from their calls. */
const turnsOfCalls = sql`
    select generation_id, key_hash, workspace_id, request_id, first_at,
      greatest(0, extract(epoch from last_at - first_at) * 1000)::bigint,
      (extract(epoch from answered_at - first_at) * 1000)::bigint + first_ms, door, operation, task,
      null, model, provider, service_tier, status, http_status, null, null, null, finish_reason, streamed, "user", session_id, null,
      1, attempts, cost_usd, input_tokens, cached_tokens, output_tokens, reasoning_tokens, is_estimated, attempt, false
    from (
      select generation_id, key_hash, count(*) as attempts, coalesce(sum(cost_usd), 0) as cost_usd,
        coalesce(sum(input_tokens), 0) as input_tokens, coalesce(sum(cached_tokens), 0) as cached_tokens,
        coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(reasoning_tokens), 0) as reasoning_tokens,
        bool_or(is_estimated) as is_estimated, min(opened_at) as first_at,
        max(opened_at + duration_ms * interval '1 ms') as last_at
      from usage_records where payer = 'key' group by 1, 2
    ) as sums join (
      select distinct on (generation_id, key_hash)
        generation_id, key_hash, workspace_id, request_id, opened_at as answered_at, first_ms, door, operation, task, model, provider,
        service_tier, status, http_status, finish_reason, streamed, "user", session_id, attempt
      from usage_records where payer = 'key'
      order by generation_id, key_hash, operation in ('turn', 'embed') desc, attempt desc, opened_at desc
    ) as last using (generation_id, key_hash)`;

const columns = sql.raw(
  `generation_id, key_hash, workspace_id, request_id, opened_at, duration_ms, first_ms, door, operation, task, requested_model, model, provider, service_tier, outcome,
  http_status, error_type, guardrail_id, rule, finish_reason, streamed, "user", session_id, trace_id, requests, attempts, cost_usd, input_tokens, cached_tokens,
  output_tokens, reasoning_tokens, is_estimated`,
);

test("turns and sums of earlier records are added batch by batch after an upgrade, and match the records", async () => {
  await migrate(database);
  expect(await pendingBackfills(database)).toEqual(["turns", "activity"]);
  await fillPast(database);
  expect(await pendingBackfills(database)).toEqual([]);
  const { rows: wrong } = await database.connection().execute(async (connection) => {
    await sql`create temporary table made as select * from turns with no data`.execute(connection);
    await sql`alter table made drop column log_sequence`.execute(connection);
    await sql`insert into made ${turnsOfCalls}`.execute(connection);
    return sql`
      (select ${columns} from made except select ${columns} from turns)
      union all (select ${columns} from turns except select ${columns} from made)`.execute(connection);
  });
  expect(wrong).toEqual([]);
  const { records, turns, wrongSums } = await ledgerState(database);
  expect({ records, turns, wrongSums }).toEqual({ records: calls, turns: calls / 3, wrongSums: [] });
  const { rows: unchecked } = await sql`
    select conname from pg_constraint where conrelid = 'usage_records'::regclass and not convalidated`.execute(
    database,
  );
  expect(unchecked).toEqual([]);
});

test("a running admin-svc adds the turns and sums of earlier records after an upgrade", async () => {
  const installation = await openInstallation(async (url) => {
    const own = openDatabase(url, migrationConnectionLimits, () => {});
    await migrateTo("0018_fusion_calls", own);
    await insertPastCalls(own, 300);
    await own.destroy();
    return url;
  }, createDatabase);
  try {
    // The worker needs some hundred portions of work, and the time of each depends on the machine.
    await eventually(async () => (await pendingBackfills(installation.database)).length === 0, 250_000);
    await eventually(async () => (await ledgerState(installation.database)).turns === 100);
    expect((await ledgerState(installation.database)).wrongSums).toEqual([]);
  } finally {
    await installation.close();
  }
}, 300_000);
