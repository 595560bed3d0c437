/** The usage cube: series equal the records, whatever part of the records is in it. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { closeNext } from "@sluice/admin-svc/store/ledger/cube.js";
import { removeDay } from "@sluice/admin-svc/store/ledger/days.js";
import { removalOfSums } from "@sluice/admin-svc/store/ledger/expired.js";
import { hasChanges } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { lockSums } from "@sluice/admin-svc/store/ledger/sums-progress.js";
import { type Kysely, type Transaction, sql } from "kysely";
import { eventually } from "../../support/processes.ts";
import fc from "../../support/properties.ts";
import { type AdminInstallation, openInstallation } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";
import { deliverRandomTurns, seriesAndSums, seriesPeriod, someSeries, totalsOf } from "./random-turns.ts";

const dayMs = 86_400_000;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
  await deliverRandomTurns(installation, 100);
});
afterAll(() => installation?.close());

/** Fills every period that has ended by this time. */
async function fillCube(before = startMs + 3 * dayMs): Promise<void> {
  while ((await closeNext(installation.database, { before: new Date(before) })) !== "none");
}

/** Checks random series against the records. */
async function expectExact(): Promise<void> {
  const property = fc.asyncProperty(someSeries, async (some) => {
    const { query, series, points, sums } = await seriesAndSums(installation.database, some);
    expect(points).toEqual(sums);
    expect(totalsOf(await usageSeries(installation.database, { ...query, limit: 1 }))).toEqual(totalsOf(series));
  });
  await fc.assert(property, { numRuns: 25 });
  expect((await ledgerState(installation.database)).wrongSums).toEqual([]);
}

/** Requests and costs by key and model. */
async function pairsOf(database: Kysely<Database>): Promise<readonly string[]> {
  const query = { workspaceId: defaultWorkspaceId, step: "day", by: ["key", "model"], filter: {}, limit: 100 } as const;
  const rows = await usageSeries(database, { ...query, ...seriesPeriod });
  return rows
    .filter(({ at }) => at !== null)
    .map((row) => [row.at?.getTime(), row.value, row.second, row.requests, row.cost_usd].join(" "));
}

const isFolded = async (): Promise<boolean> => !(await hasChanges(installation.database));

beforeEach(() => eventually(isFolded));

test("series equal the records while only some hours are in the usage cube", async () => {
  await sql`delete from usage_cube_periods`.execute(installation.database);
  for (let hours = 1; hours <= 3; hours++) {
    await closeNext(installation.database, { before: new Date(startMs + 3_600_000 * (hours + 1)) });
    await expectExact();
  }
});

/** Runs while it holds the lock of the sums, so that no other worker adds to them, and rolls everything back. */
async function rolledBack(work: (transaction: Transaction<Database>) => Promise<void>): Promise<void> {
  const over = new Error("rolled back");
  const run = installation.database.transaction().execute(async (transaction) => {
    await lockSums(transaction);
    await work(transaction);
    throw over;
  });
  await expect(run).rejects.toBe(over);
}

test("series read closed days from the usage cube, with filters and two dimensions", async () => {
  await fillCube();
  await expectExact();
  await rolledBack(async (transaction) => {
    const exact = await pairsOf(transaction);
    await sql`update usage_cube set requests = requests + 1 where is_day and by_turn`.execute(transaction);
    expect(await pairsOf(transaction)).not.toEqual(exact);
  });
});

test("the ledger check names a period of the usage cube that differs from the records", async () => {
  await fillCube();
  const wrong = async () => (await ledgerState(installation.database)).wrongSums.map(({ owner }) => owner);
  const change = (by: number) =>
    sql`update usage_cube set cost_pico = cost_pico + ${by} where is_day and by_turn`.execute(installation.database);
  await change(1);
  expect(new Set(await wrong())).toEqual(new Set(["cube day"]));
  await change(-1);
  expect(await wrong()).toEqual([]);
});

test("records that arrive after their hour was closed are counted at once, and only once", async () => {
  await fillCube();
  await installation.database.transaction().execute(async (transaction) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
    await lockSums(transaction);
    await deliverRandomTurns(installation, 60);
    expect(await isFolded()).toBe(false);
    await expectExact();
  });
  await eventually(isFolded);
  await expectExact();
});

test("a turn that leaves the ledger leaves the usage cube, too", async () => {
  await fillCube();
  const generationId = `gen-${randomUUID()}`;
  const [one, other] = [new Process(), new Process()];
  await deliver(installation, { calls: [one.call({ generationId })], turns: [one.turn({ generationId })] });
  await eventually(isFolded);
  await deliver(installation, { calls: [other.call({ generationId, turnId: randomUUID() })], turns: [] });
  await expectExact();
  await fillCube();
  await expectExact();
});

test("the usage cube is filled again after an earlier build has added to the sums", async () => {
  await fillCube();
  await rolledBack(async (transaction) => {
    const exact = await pairsOf(transaction);
    await sql`update usage_cube set requests = 1000`.execute(transaction);
    expect(await pairsOf(transaction)).not.toEqual(exact);
    await sql`update ledger_progress set folded = folded`.execute(transaction);
    expect(await pairsOf(transaction)).toEqual(exact);
  });
  await installation.database.transaction().execute(async (transaction) => {
    await lockSums(transaction);
    await sql`update usage_cube set requests = 1000`.execute(transaction);
    await sql`update ledger_progress set folded = folded`.execute(transaction);
  });
  await expectExact();
  await fillCube();
  await expectExact();
});

test("old periods leave the usage cube with the other sums, and are then read from the ledger", async () => {
  await fillCube();
  const before = await pairsOf(installation.database);
  const midnight = new Date(Math.ceil(startMs / dayMs) * dayMs);
  const remove = removalOfSums(installation.database, midnight);
  while ((await remove()) > 0);
  const { rows } = await sql`select from usage_cube where period < ${midnight}`.execute(installation.database);
  expect(rows).toEqual([]);
  expect(await pairsOf(installation.database)).toEqual(before);
  await sql`delete from usage_cube_periods`.execute(installation.database);
});

test("series with two dimensions keep the days that retention has removed from the ledger", async () => {
  await fillCube();
  const before = await pairsOf(installation.database);
  const countTurns = async (): Promise<unknown> =>
    (await sql`select count(*) as count from all_turns`.execute(installation.database)).rows[0];
  const turns = await countTurns();
  await removeDay(installation.database, new Date(startMs).toISOString().slice(0, 10));
  expect(await countTurns()).not.toEqual(turns);
  expect(await pairsOf(installation.database)).toEqual(before);
});
