/** Hours and days enter the usage cube in parts: series equal the records between any two parts, whatever arrives or changes meanwhile. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { UsageFolder } from "@sluice/admin-svc/service/usage-folder.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { type CubeStep, closeNext } from "@sluice/admin-svc/store/ledger/cube.js";
import { removalOfSums } from "@sluice/admin-svc/store/ledger/expired.js";
import { hasChanges } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { lockSums } from "@sluice/admin-svc/store/ledger/sums-progress.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { type Kysely, type Transaction, sql } from "kysely";
import { eventually } from "../../support/processes.ts";
import fc from "../../support/properties.ts";
import { type AdminInstallation, openInstallation } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";
import { type SomeSeries, deliverRandomTurns, seriesAndSums, seriesPeriod } from "./random-turns.ts";

const hourMs = 3_600_000;
const maxRows = 20;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
  await deliverRandomTurns(installation, 200);
  await eventually(isFolded);
});
afterAll(() => installation?.close());

const isFolded = async (): Promise<boolean> => !(await hasChanges(installation.database));

const nextPart = (database: Kysely<Database>, rows = maxRows): Promise<CubeStep> =>
  closeNext(database, { before: new Date(startMs + 2 * hourMs), maxRows: rows });

/** @returns the number of parts */
async function fillCube(database: Kysely<Database>, rows = maxRows): Promise<number> {
  for (let parts = 0; ; parts++) if ((await nextPart(database, rows)) === "none") return parts;
}

const openPeriods = (database: Kysely<Database>) => sql`delete from usage_cube_periods`.execute(database);

/** Fills the usage cube, and begins filling the day again. A large day has nearly as many rows by hour as turns. */
async function beginDay(database: Kysely<Database>, isLarge: boolean): Promise<void> {
  await openPeriods(database);
  await fillCube(database);
  await sql`delete from usage_cube_periods where is_day`.execute(database);
  const begun = sql`update usage_cube_periods set hour_rows = ${isLarge ? 1_000_000 : 0} where is_day`;
  do await nextPart(database);
  while ((await begun.execute(database)).numAffectedRows === 0n);
}

async function rolledBack(work: (transaction: Transaction<Database>) => Promise<unknown>): Promise<void> {
  const over = new Error("rolled back");
  const run = installation.database.transaction().execute(async (transaction) => {
    await work(transaction);
    throw over;
  });
  await expect(run).rejects.toBe(over);
}

const someSeries: readonly SomeSeries[] = [
  { step: "hour", by: ["key", "model"], filter: {} },
  { step: "day", by: ["status", "door"], filter: { key: "a".repeat(64) } },
];

const seriesIn = (database: Kysely<Database>): Promise<unknown> => {
  const query = { workspaceId: defaultWorkspaceId, limit: 100, ...seriesPeriod };
  return Promise.all(someSeries.map((some) => usageSeries(database, { ...query, ...some })));
};

/** Series equal the records, and the check of the ledger finds no period that differs. */
async function expectExact(): Promise<void> {
  for (const some of someSeries) {
    const { points, sums } = await seriesAndSums(installation.database, some);
    expect(points).toEqual(sums);
  }
  expect((await ledgerState(installation.database)).wrongSums).toEqual([]);
}

const rowsOfCube = async (database: Kysely<Database>): Promise<readonly string[]> => {
  const { rows } = await sql<{ line: string }>`select usage_cube::text as line from usage_cube order by 1`.execute(
    database,
  );
  return rows.map(({ line }) => line);
};

test("a usage cube filled in parts has the same rows as one filled at once", async () => {
  await rolledBack(async (transaction) => {
    await lockSums(transaction);
    await openPeriods(transaction);
    const atOnce = await fillCube(transaction, 1_000_000);
    const rows = await rowsOfCube(transaction);
    expect(rows.length).toBeGreaterThan(2 * maxRows);
    await openPeriods(transaction);
    expect(await fillCube(transaction)).toBeGreaterThan(atOnce + 10);
    expect(await rowsOfCube(transaction)).toEqual(rows);
  });
});

test("series equal the records after each part of an hour and of a day enters the cube", async () => {
  await openPeriods(installation.database);
  while ((await nextPart(installation.database)) !== "none") {
    const { rows } = await sql`
      select from usage_cube_periods where filled_to > period or next_key > 0`.execute(installation.database);
    if (rows.length > 0) await expectExact();
  }
  await expectExact();
});

/** Delivers another part of a turn, which makes the turn leave the ledger. */
async function moveTurn(seed: number): Promise<void> {
  const { rows } = await sql<{ id: string; hash: string; at: Date }>`
    select generation_id as id, (select name from ledger_names where id = key) as hash, opened_at as at from ledger
    where not is_moved and attempts > 0 order by generation_id`.execute(installation.database);
  const turn = rows[seed % rows.length];
  if (turn === undefined) throw new Error("the ledger has no turn");
  const fields = { generationId: turn.id, keyHash: turn.hash, openedAtMs: BigInt(turn.at.getTime()) };
  await deliver(installation, { calls: [new Process().call({ ...fields, turnId: randomUUID() })], turns: [] });
}

type Event = "part" | "killed" | "late" | "folded" | number;
const someEvents = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant<Event>("part") },
    { weight: 2, arbitrary: fc.constantFrom<Event>("late", "folded", "killed") },
    { weight: 1, arbitrary: fc.nat() },
  ),
  { minLength: 4, maxLength: 14 },
);

async function happen(event: Event): Promise<unknown> {
  if (event === "part") return await nextPart(installation.database);
  if (event === "late") return await deliverRandomTurns(installation, 8);
  if (event === "folded") return await eventually(isFolded);
  if (event === "killed") return await rolledBack(nextPart);
  return await moveTurn(event);
}

test("series equal the records when turns change or the process dies between the parts of an hour", async () => {
  const property = fc.asyncProperty(someEvents, async (events) => {
    await openPeriods(installation.database);
    for (const event of events) await happen(event);
    await expectExact();
    await fillCube(installation.database);
    await expectExact();
  });
  await fc.assert(property, { numRuns: 8 });
});

test("series equal the records when turns change between the parts of a day, also of a large day", async () => {
  const property = fc.asyncProperty(someEvents, fc.boolean(), async (events, isLarge) => {
    await beginDay(installation.database, isLarge);
    for (const event of events) await happen(event);
    await expectExact();
    await fillCube(installation.database);
    await expectExact();
  });
  await fc.assert(property, { numRuns: 8 });
});

test("a large day of the usage cube takes the rows of its hours, in parts", async () => {
  await rolledBack(async (transaction) => {
    await lockSums(transaction);
    const exact = await seriesIn(transaction);
    await beginDay(transaction, true);
    expect(await fillCube(transaction)).toBeGreaterThan(2);
    const { rows } = await sql<{ is_day: boolean }>`select distinct is_day from usage_cube`.execute(transaction);
    expect(rows).toEqual([{ is_day: true }]);
    expect(await seriesIn(transaction)).toEqual(exact);
  });
});

test("an hour that retention removes while it is being filled stays out of the usage cube", async () => {
  await rolledBack(async (transaction) => {
    await lockSums(transaction);
    await openPeriods(transaction);
    const exact = await seriesIn(transaction);
    const filling = sql<{ period: Date }>`select period from usage_cube_periods where filled_to > ${new Date(startMs)}`;
    for (;;) {
      await nextPart(transaction);
      const { rows } = await filling.execute(transaction);
      if (rows.some(({ period }) => period.getTime() === startMs)) break;
    }
    const remove = removalOfSums(transaction, new Date(startMs + hourMs));
    while ((await remove()) > 0);
    await fillCube(transaction);
    const { rows } = await sql`
      select from usage_cube_periods where period = ${new Date(startMs)} and is_stored
      union all select from usage_cube where period = ${new Date(startMs)}`.execute(transaction);
    expect(rows).toEqual([]);
    expect(await seriesIn(transaction)).toEqual(exact);
  });
});

test("an hour that cannot be filled is named in the log, and does not keep other hours out of the usage cube", async () => {
  const { database } = installation;
  await sql`
    create function refuse_period() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`.execute(
    database,
  );
  await sql`
    create trigger refused before insert on usage_cube_periods for each row
    when (new.period = ${sql.lit(new Date(startMs).toISOString())}::timestamptz) execute function refuse_period()`.execute(
    database,
  );
  await openPeriods(database);
  const lines: string[] = [];
  const folder = new UsageFolder(database, openLog("test", "info", { write: (line: string) => lines.push(line) }));
  folder.start();
  try {
    const isStored = async (hour: number): Promise<boolean> => {
      const { rows } = await sql`
        select from usage_cube_periods where is_stored and not is_day and period = ${new Date(hour)}`.execute(database);
      return rows.length > 0;
    };
    const hour = new Date(startMs).toISOString().slice(0, 16);
    await eventually(() => lines.some((line) => line.includes(`"hour":"${hour}"`)));
    await eventually(() => isStored(startMs - hourMs));
    expect(await isStored(startMs)).toBe(false);
    expect(lines.join()).toContain("an hour or a day cannot be added to the cube of usage");
    await expectExact();
  } finally {
    await folder.stop();
    await sql`drop function refuse_period cascade`.execute(database);
  }
});
