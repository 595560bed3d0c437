/** Retention by the configuration file: what it removes and keeps, and when. */
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { RetentionWorker } from "@sluice/admin-svc/service/retention-worker.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { sumAll, tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import {
  backfillConnectionLimits,
  migrationConnectionLimits,
  openDatabase,
} from "@sluice/admin-svc/store/postgres/postgres.js";
import { removeExpiredRecords } from "@sluice/admin-svc/store/ledger/retention.js";
import { grantRuntime, runtimeRole } from "@sluice/admin-svc/store/postgres/roles.js";
import type { RetentionSettings } from "@sluice/proto/config/sinks/retention.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { type Kysely, sql } from "kysely";
import { type TestDatabase, createMigratedDatabase } from "../support/database.ts";
import { fillLedger, fillTurns } from "../support/ledger/many-turns.ts";

const days = 12;
const filling = { turns: 240, days, keys: 3, users: 5 };

let created: TestDatabase;
let database: Kysely<Database>;
beforeEach(async () => {
  created = await createMigratedDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
});
afterEach(async () => {
  await database?.destroy();
  await created?.drop();
});

const fold = () => sumAll(database);

/** @param role of the worker's sessions; the owner of the schema by default */
function openWorker(role?: string) {
  const lines: string[] = [];
  const inForce: { settings: RetentionSettings; exports: readonly string[] } = { settings: {}, exports: [] };
  const registry = new Registry();
  const worker = new RetentionWorker({
    open: () => openDatabase(created.url, backfillConnectionLimits, () => {}, role === undefined ? {} : { role }),
    settings: () => inForce.settings,
    exports: () => inForce.exports,
    log: openLog("test", "info", { write: (line: string) => lines.push(line) }),
    registry,
  });
  return { worker, inForce, lines, registry };
}

/** Age in days of the oldest record of each table. */
async function oldest(): Promise<Readonly<Record<string, number>>> {
  const age = (time: string) =>
    sql.raw(`(select (now() at time zone 'UTC')::date - min(${time} at time zone 'UTC')::date from`);
  const { rows } = await sql<Record<string, number>>`
    select ${age("opened_at")} ledger) as ledger, ${age("opened_at")} usage_records) as calls, ${age("opened_at")} turns) as turns,
      ${age("at")} usage_sums) as sums, (select (now() at time zone 'UTC')::date - min(day) from ledger_days) as days`.execute(
    database,
  );
  return rows[0] ?? {};
}

test("the retention worker deletes nothing by default; configured, it deletes whole days of records and old sums", async () => {
  await fillTurns(database, filling);
  await fillLedger(database, filling);
  await fold();
  const { worker, inForce, lines, registry } = openWorker();
  const before = await oldest();
  await worker.run();
  expect([await oldest(), lines]).toEqual([before, []]);
  const spent = () => sql`select sum(cost_usd) as usd, sum(attempts) as calls from key_days`.execute(database);
  const { rows: spending } = await spent();

  inForce.settings = { ledger: 5, sums: 8 };
  await worker.run();
  expect(await oldest()).toEqual({ ledger: 5, calls: 5, turns: 5, sums: 8, days: 5 });
  const text = await registry.metrics();
  for (const from of ["turns", "calls", "sums"])
    expect(text).toMatch(new RegExp(`sluice_retention_removed_total\\{from="${from}"\\} [1-9]`));
  expect(lines.filter((line) => line.includes("a day of the ledger was removed"))).toHaveLength(days - 5);
  expect((await spent()).rows).toEqual(spending);

  inForce.settings = { ledger: 3 };
  await worker.run();
  expect(await oldest()).toEqual({ ledger: 3, calls: 3, turns: 3, sums: 8, days: 3 });
});

test("retention keeps a day that is not in the sums yet, or not yet delivered by an export", async () => {
  await fillTurns(database, filling);
  await fillLedger(database, filling);
  const { worker, inForce, lines } = openWorker();
  inForce.settings = { ledger: 2 };
  await worker.run();
  expect(await oldest()).toMatchObject({ ledger: days, calls: 2 });
  expect(lines.join()).toContain('"held_by":"sums"');

  while ((await tryFold(database)) === "some");
  inForce.settings = { ledger: 3 };
  await worker.run();
  // The turns are missing in the sums of end users.
  expect(await oldest()).toMatchObject({ ledger: days });
  expect(lines.at(-1)).toContain('"held_by":"sums"');

  await fold();
  // Half of the turns are delivered: turns of the latest days have the lowest numbers.
  await sql`
    insert into export_positions (export, workspace_id, started_at, started, delivered, due_at)
    select 'lake', id, '-infinity', 0, (select max(log_sequence) from ledger) - 100, now() from workspaces`.execute(
    database,
  );
  inForce.settings = { ledger: 5 };
  inForce.exports = ["lake"];
  await worker.run();
  expect(await oldest()).toMatchObject({ ledger: days });
  expect(lines.at(-1)).toContain('"held_by":"exports"');

  await sql`update export_positions set delivered = (select max(log_sequence) from ledger)`.execute(database);
  inForce.settings = { ledger: 4 };
  await worker.run();
  expect(await oldest()).toMatchObject({ ledger: 4 });
});

test("the retention command continues with other days and the audit log when one day cannot be summed", async () => {
  await fillLedger(database, { ...filling, turns: 3000 });
  // The records get the times of storing of their own days.
  await sql`
    update ledger set written = written - ((now() at time zone 'UTC')::date - (opened_at at time zone 'UTC')::date)`.execute(
    database,
  );
  await sql`
    create function refuse_day() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`.execute(
    database,
  );
  await sql`
    create trigger refused before insert on usage_sums for each row
    when (new.dimension = 'user' and new.at < now() - interval '11 days') execute function refuse_day()`.execute(
    database,
  );
  const author = { keyHash: null, program: "cli", requestId: null } as const;
  const removed: Record<string, number> = {};
  const run = async () => {
    for await (const { from, count } of removeExpiredRecords(database, author, { ledgerDays: 5, auditDays: 1 }))
      removed[from] = count;
  };
  await expect(run()).rejects.toThrow(
    /^turns of (\d{4}-\d\d-\d\d, )+\d{4}-\d\d-\d\d are kept: the sums of end users cannot take turns \d+ to \d+: refused$/,
  );
  expect([removed["turns"] ?? 0, removed["audit"]]).toEqual([expect.any(Number), 0]);
  expect(removed["turns"]).toBeGreaterThan(249);
  const { rows } = await sql<{ age: number }>`
    select (now() at time zone 'UTC')::date - day as age from ledger_days where day < (now() at time zone 'UTC')::date - 5 order by day`.execute(
    database,
  );
  expect([rows[0]?.age, rows.length < days - 5]).toEqual([days, true]);

  await sql`drop function refuse_day cascade`.execute(database);
  await run();
  expect(await oldest()).toMatchObject({ ledger: 5, days: 5 });
});

test("one process at a time removes records, and none while earlier records are still being summed", async () => {
  await fillLedger(database, filling);
  await fold();
  const { worker, inForce } = openWorker();
  const other = openDatabase(created.url, backfillConnectionLimits, () => {});
  try {
    await sql`select pg_advisory_lock(7340155307)`.execute(other);
    inForce.settings = { ledger: 3 };
    await worker.run();
    expect(await oldest()).toMatchObject({ ledger: days });
  } finally {
    await other.destroy();
  }
  await sql`insert into backfills (name, reached) values ('key_totals', now())`.execute(database);
  inForce.settings = { ledger: 4 };
  await worker.run();
  expect(await oldest()).toMatchObject({ ledger: days });
  await sql`delete from backfills`.execute(database);
  inForce.settings = { ledger: 5 };
  worker.stop();
  await worker.run();
  expect(await oldest()).toMatchObject({ ledger: days });
});

test("a database user without the owner's rights removes nothing, and the log names the command to run", async () => {
  await fillTurns(database, filling);
  await fillLedger(database, filling);
  await fold();
  await grantRuntime(database);
  const before = await oldest();
  const { worker, inForce, lines } = openWorker(runtimeRole);
  inForce.settings = { ledger: 5 };
  await worker.run();
  expect(await oldest()).toEqual(before);
  expect(lines).toEqual([expect.stringContaining("run admin retention run as the owner of the schema")]);
});
