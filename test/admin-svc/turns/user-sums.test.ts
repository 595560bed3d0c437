/** Sums of end users follow the other sums later: series equal the records whatever part of them is in. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { hasChanges } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { inSpan, nextSpan, passSpan } from "@sluice/admin-svc/store/ledger/ledger-sums.js";
import { ledgerHours } from "@sluice/admin-svc/store/ledger/row-sums.js";
import { lockSums } from "@sluice/admin-svc/store/ledger/sums-progress.js";
import { addSums, dimensions, sumHours } from "@sluice/admin-svc/store/ledger/usage-rollup.js";
import { sumUsers } from "@sluice/admin-svc/store/ledger/user-sums.js";
import { type Kysely, type Transaction, sql } from "kysely";
import { eventually } from "../../support/processes.ts";
import { type AdminInstallation, openInstallation, testAuthor } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";
import { deliverRandomTurns, seriesAndSums, totalsOf } from "./random-turns.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const steps = ["hour", "day", "week"] as const;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());

const hasNone = async (): Promise<boolean> => !(await hasChanges(installation.database));

/** The evening of the turns, in days after yesterday. */
let days = 1;

/** Turns of an evening to come, so that none of them is in the sums of end users by itself. */
const deliverTurns = async (count: number): Promise<void> => {
  await deliverRandomTurns(installation, count, days * dayMs);
  await eventually(hasNone);
};

const step = (maxRows: number): ReturnType<typeof sumUsers> =>
  sumUsers(installation.database, { before: new Date(startMs + days * dayMs + 2 * hourMs), maxRows, maxWaiting: 0 });

/** Adds everything. @returns the number of steps */
async function sumAll(maxRows = 10_000): Promise<number> {
  let count = 0;
  for (let done = await step(maxRows); done !== "none"; done = await step(maxRows)) if (done === "some") count++;
  return count;
}

/** Series by end user equal the records. */
async function expectExact(database: Kysely<Database> = installation.database): Promise<void> {
  for (const size of steps) {
    const { query, series, points, sums } = await seriesAndSums(database, { step: size, by: ["user"], filter: {} });
    expect([size, points]).toEqual([size, sums]);
    expect(totalsOf(await usageSeries(database, { ...query, limit: 1 }))).toEqual(totalsOf(series));
  }
  expect((await ledgerState(database)).wrongSums).toEqual([]);
}

/** Numbers of sums of end users from this evening on. */
async function countSums(value: string): Promise<{ readonly hours: number; readonly days: number }> {
  const { rows } = await sql<{ hours: number; days: number }>`
    select count(*) filter (where step = 'hour')::int as hours, count(*) filter (where step = 'day')::int as days
    from usage_sums where dimension = 'user' and at >= ${new Date(startMs + 2 * hourMs)} and value = ${value}`.execute(
    installation.database,
  );
  return rows[0] ?? { hours: 0, days: 0 };
}

async function deliverWhole(user: string): Promise<string> {
  const generationId = `gen-${randomUUID()}`;
  const process = new Process();
  const common = { generationId, user, openedAtMs: BigInt(startMs + days * dayMs) };
  await deliver(installation, { calls: [process.call(common)], turns: [process.turn(common)] });
  return generationId;
}

async function deliverOne(user: string): Promise<string> {
  const generationId = await deliverWhole(user);
  await eventually(hasNone);
  return generationId;
}

/** Another part of a turn, with which it leaves the ledger. */
const deliverPart = (generationId: string, user: string): Promise<unknown> => {
  const part = { generationId, user, turnId: randomUUID(), openedAtMs: BigInt(startMs + days * dayMs) };
  return deliver(installation, { calls: [new Process().call(part)], turns: [] });
};

const erase = (user: string) => eraseEndUser(installation.database, testAuthor(defaultWorkspaceId), user, () => {});

test("batches add nothing to the sums of end users of an open day", async () => {
  await deliverOne("u-3");
  expect(await countSums("u-3")).toEqual({ hours: 0, days: 0 });
  await deliverTurns(60);
  await expectExact();
});

test("end users enter the sums in parts, by hour at the end of their day", async () => {
  let parts = 0;
  while ((await step(9)) !== "none") {
    parts++;
    if (parts % 4 === 1) await expectExact();
  }
  expect(parts).toBeGreaterThan(8);
  expect(await countSums("u-3")).toEqual({ hours: 1, days: 1 });
  await expectExact();
});

test("turns that arrive after the end of their day count at once, by hour for the end users that have hours", async () => {
  await deliverOne("u-3");
  await deliverOne("u-4");
  expect(await countSums("u-4")).toEqual({ hours: 0, days: 1 });
  await deliverTurns(30);
  await expectExact();
  expect(await sumAll()).toBe(0);
});

test("turns leave the sums of end users wherever they are in them", async () => {
  const [byHour, byDay] = [await deliverOne("u-3"), await deliverOne("u-4")];
  await deliverPart(byHour, "u-3");
  await deliverPart(byDay, "u-4");
  await expectExact();
  await eventually(hasNone);
  await expectExact();
});

test("an end user is erased wherever the sums have it", async () => {
  for (const user of ["u-3", "u-4"]) {
    await erase(user);
    await expectExact();
    expect(await countSums(user)).toEqual({ hours: 0, days: 0 });
  }
  const { rows } = await sql`select from user_hours where value in ('u-3', 'u-4')`.execute(installation.database);
  expect(rows).toEqual([]);
});

test("turns of an open day leave the sums, and lose their end user", async () => {
  days = 2;
  const [moved] = [await deliverOne("u-5"), await deliverOne("u-6"), await deliverOne("u-7")];
  await deliverTurns(30);
  await deliverPart(moved, "u-5");
  await expectExact();
  await erase("u-6");
  await expectExact();
  await sumAll(9);
  expect([await countSums("u-5"), await countSums("u-6"), await countSums("u-7")]).toEqual([
    { hours: 1, days: 1 },
    { hours: 0, days: 0 },
    { hours: 1, days: 1 },
  ]);
  await expectExact();
});

/** A worker of an earlier build, which adds end users with the other sums. */
async function foldAsEarlier(transaction: Transaction<Database>): Promise<void> {
  const span = await nextSpan(transaction, 10_000);
  await addSums(sumHours(ledgerHours({ written: inSpan(span) }, dimensions))).execute(transaction);
  await passSpan(transaction, span);
}

test("turns that an earlier build adds to the sums count once, and later ones are added as it does", async () => {
  days = 3;
  await deliverOne("u-8");
  await installation.database.transaction().execute(async (transaction) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
    await lockSums(transaction);
    await deliverWhole("u-9");
    await foldAsEarlier(transaction);
  });
  await expectExact();
  await deliverOne("u-10");
  expect([await countSums("u-8"), await countSums("u-9"), await countSums("u-10")]).toEqual([
    { hours: 0, days: 0 },
    { hours: 1, days: 1 },
    { hours: 1, days: 1 },
  ]);
  await deliverTurns(30);
  await expectExact();
  await sql`update user_sums_progress set earlier_at = now() - interval '1 hour'`.execute(installation.database);
  await deliverTurns(30);
  await expectExact();
  await sumAll(20);
  await expectExact();
});
