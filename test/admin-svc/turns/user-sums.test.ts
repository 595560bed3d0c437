/** Sums of end users are updated after the other sums: series equal the records, whatever part of the turns is in these sums. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { UsageFolder } from "@sluice/admin-svc/service/usage-folder.js";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { eraseEndUser } from "@sluice/admin-svc/store/erasure.js";
import { addLate } from "@sluice/admin-svc/store/ledger/cube.js";
import { hasChanges } from "@sluice/admin-svc/store/ledger/fold.js";
import { ledgerState } from "@sluice/admin-svc/store/ledger/ledger-check.js";
import { inSpan, nextSpan } from "@sluice/admin-svc/store/ledger/ledger-sums.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { ledgerHours } from "@sluice/admin-svc/store/ledger/row-sums.js";
import { lockSums, unsummedRows } from "@sluice/admin-svc/store/ledger/sums-progress.js";
import { addSums, dimensions, sumHours } from "@sluice/admin-svc/store/ledger/usage-rollup.js";
import {
  UnsummedUsers,
  type UserPortion,
  type UsersQuery,
  sumUsers,
} from "@sluice/admin-svc/store/ledger/user-sums.js";
import { isOutage } from "@sluice/admin-svc/store/postgres/failure.js";
import { removeWorkspace } from "@sluice/admin-svc/store/workspace-removal.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { type Kysely, type Transaction, sql } from "kysely";
import { eventually } from "../../support/processes.ts";
import fc from "../../support/properties.ts";
import { type AdminInstallation, addKey, addWorkspace, openInstallation, testAuthor } from "../installation.ts";
import { Process, deliver, startMs } from "./deliveries.ts";
import { deliverRandomTurns, seriesAndSums, totalsOf } from "./random-turns.ts";

const steps = ["hour", "day", "week"] as const;

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
  // Turns that begin to wait in a new database are added at once, by the worker as well.
  await setProgress(
    "from_day = (now() at time zone 'UTC')::date - 2, users_from_day = (now() at time zone 'UTC')::date - 2",
  );
  await deliverRandomTurns(installation, 30);
  await eventually(hasNone);
  await sumAll();
});
afterAll(() => installation?.close());

const hasNone = async (): Promise<boolean> => !(await hasChanges(installation.database));

/**
 * Adds a portion of waiting turns, once no other worker is adding one.
 * @returns whether there was a portion
 */
async function step(query: UsersQuery = {}): Promise<boolean> {
  for (;;) {
    const done = await sumUsers(installation.database, { maxWaiting: 0, ...query });
    if (done !== "locked") return done !== "none";
  }
}

/**
 * Adds all waiting turns.
 * @returns the number of portions
 */
async function sumAll(query: UsersQuery = {}): Promise<number> {
  for (let count = 0; ; count++) if (!(await step(query))) return count;
}

/** Series by end user equal the records, and the check of the ledger finds no sum that differs. */
async function expectExact(database: Kysely<Database> = installation.database): Promise<void> {
  for (const size of steps) {
    const { query, series, points, sums } = await seriesAndSums(database, { step: size, by: ["user"], filter: {} });
    expect([size, points]).toEqual([size, sums]);
    if (database === installation.database)
      expect(totalsOf(await usageSeries(database, { ...query, limit: 1 }))).toEqual(totalsOf(series));
  }
  expect((await ledgerState(installation.database)).wrongSums).toEqual([]);
}

/** Requests in the sums by day of an end user, and the number of their hours. */
async function sumsOf(
  value: string,
  database: Kysely<Database> = installation.database,
): Promise<{ readonly requests: number; readonly hours: number }> {
  const { rows } = await sql<{ requests: number; hours: number }>`
    select coalesce(sum(requests) filter (where step = 'day'), 0)::int as requests, (count(*) filter (where step = 'hour'))::int as hours
    from usage_sums where dimension = 'user' and value = ${value}`.execute(database);
  return rows[0] ?? { requests: 0, hours: 0 };
}

/** Turns that arrive whole, each in a batch of its own. @returns their ids */
async function deliverWhole(user: string, count = 1, fields: object = {}): Promise<readonly string[]> {
  const process = new Process();
  const ids = Array.from({ length: count }, () => `gen-${randomUUID()}`);
  for (const generationId of ids) {
    const common = { generationId, user, openedAtMs: BigInt(startMs), ...fields };
    await deliver(installation, { calls: [process.call(common)], turns: [process.turn(common)] });
  }
  return ids;
}

/** Delivers turns that are in all sums except those of end users. */
async function deliverWaiting(user: string, count = 1): Promise<readonly string[]> {
  const ids = await deliverWhole(user, count);
  await eventually(hasNone);
  return ids;
}

/** Delivers another part of a turn, which makes the turn leave the ledger. */
const deliverPart = (generationId: string, user: string): Promise<unknown> => {
  const part = { generationId, user, turnId: randomUUID(), openedAtMs: BigInt(startMs) };
  return deliver(installation, { calls: [new Process().call(part)], turns: [] });
};

const erase = (user: string) => eraseEndUser(installation.database, testAuthor(defaultWorkspaceId), user, () => {});

/** Sets columns of the progress as the worker of this build does it. */
const setProgress = (set: string, database: Kysely<Database> = installation.database) =>
  sql`
    with later as materialized (select set_config('sluice.fills_cube', 'on', true), set_config('sluice.leaves_users', 'on', true))
    update ledger_progress set ${sql.raw(set)} from later`.execute(database);

/** Begins the day of the waiting turns earlier, so that they are due. */
const makeDue = (database?: Kysely<Database>) => setProgress("users_from_day = '-infinity'", database);

async function rolledBack(work: (transaction: Transaction<Database>) => Promise<unknown>): Promise<void> {
  const over = new Error("rolled back");
  const run = installation.database.transaction().execute(async (transaction) => {
    await work(transaction);
    throw over;
  });
  await expect(run).rejects.toBe(over);
}

test("batches leave the sums of end users to a later step, and series already include them", async () => {
  await deliverWaiting("u-3");
  expect(await sumsOf("u-3")).toEqual({ requests: 0, hours: 0 });
  await deliverRandomTurns(installation, 60);
  await eventually(hasNone);
  await expectExact();
});

test("turns wait to be summed by end user until there are enough of them, at most until the end of the day", async () => {
  await deliverWaiting("u-4");
  expect(await step({ maxWaiting: 20_000 })).toBe(false);
  await rolledBack(async (transaction) => {
    await lockSums(transaction);
    await makeDue(transaction);
    expect(await sumUsers(transaction)).toBe("last");
    expect(await sumsOf("u-4", transaction)).toEqual({ requests: 1, hours: 1 });
  });
  await sumAll();
  await deliverWaiting("u-4", 3);
  expect(await step({ maxWaiting: 3 })).toBe(false);
  expect(await step({ maxWaiting: 2 })).toBe(true);
  expect(await sumsOf("u-4")).toEqual({ requests: 4, hours: 1 });
  await expectExact();
});

test("all turns of one end user enter the sums in portions, by hour on the same day", async () => {
  await sumAll();
  await deliverWaiting("u-5", 20);
  let [before, portions] = [0, 0];
  while (await step({ maxRows: 4 })) {
    const { requests, hours } = await sumsOf("u-5");
    expect([requests - before <= 4, hours]).toEqual([true, 1]);
    before = requests;
    portions++;
    if (portions === 2) await expectExact();
  }
  expect([before, portions]).toEqual([20, 5]);
  await expectExact();
});

test("a transaction with more turns than the limit of a portion enters the sums of end users as one portion", async () => {
  await sumAll();
  await deliverRandomTurns(installation, 40);
  await eventually(hasNone);
  expect(await sumAll({ maxRows: 1 })).toBeGreaterThan(0);
  await expectExact();
});

test("turns leave the sums, or lose their erased end user, whether they were summed or still wait", async () => {
  const [summed] = await deliverWaiting("u-6");
  await deliverWaiting("u-7");
  await sumAll();
  const [waiting] = await deliverWaiting("u-6");
  await deliverWaiting("u-7");
  for (const generationId of [summed, waiting]) {
    await deliverPart(generationId ?? "", "u-6");
    await expectExact();
  }
  await erase("u-7");
  await expectExact();
  await eventually(hasNone);
  await sumAll();
  expect([await sumsOf("u-6"), await sumsOf("u-7")]).toEqual([
    { requests: 2, hours: 1 },
    { requests: 0, hours: 0 },
  ]);
  await expectExact();
});

test("a workspace can be removed while its turns wait to be summed by end user", async () => {
  const workspaceId = await addWorkspace(installation.database);
  const keyHash = hashKey(await addKey(installation.database, { workspaceId }));
  await deliverWhole("u-8", 2, { workspaceId, keyHash });
  await deliverWhole("u-8");
  await eventually(hasNone);
  await sql`update workspaces set deleted_at = now() where id = ${workspaceId}`.execute(installation.database);
  await removeWorkspace(installation.database, workspaceId);
  await expectExact();
  await sumAll();
  expect(await sumsOf("u-8")).toEqual({ requests: 1, hours: 1 });
  await expectExact();
});

/** Worker of an earlier build, which adds turns to the sums of end users together with all other sums. */
async function foldAsEarlier(transaction: Transaction<Database>): Promise<void> {
  await sql`select set_config('sluice.fills_cube', 'on', true)`.execute(transaction);
  const span = await nextSpan(transaction, 10_000);
  await addSums(sumHours(ledgerHours({ written: inSpan(span) }, dimensions))).execute(transaction);
  await addLate(transaction, inSpan(span));
  await sql`update ledger_progress set folded = ${span.until}::bigint`.execute(transaction);
}

/** Delivers turns that an earlier build then adds to the sums. */
const deliverToEarlier = (deliverTurns: () => Promise<unknown>): Promise<void> =>
  installation.database.transaction().execute(async (transaction) => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
    await lockSums(transaction);
    await deliverTurns();
    await foldAsEarlier(transaction);
  });

test("turns summed by an earlier build count once, and turns next to that build are summed by end user at once", async () => {
  await sumAll();
  await deliverWaiting("u-9");
  await deliverToEarlier(() => deliverWhole("u-10"));
  await expectExact();
  expect([await sumsOf("u-9"), await sumsOf("u-10")]).toEqual([
    { requests: 0, hours: 0 },
    { requests: 1, hours: 1 },
  ]);
  await deliverWhole("u-11");
  for (const user of ["u-9", "u-11"]) await eventually(async () => (await sumsOf(user)).requests === 1);
  await setProgress("earlier_at = now() - interval '11 minutes'");
  await deliverWaiting("u-12");
  expect(await sumsOf("u-12")).toEqual({ requests: 0, hours: 0 });
  await expectExact();
});

test("next to an earlier build, a failing portion of turns delays neither other turns nor an erasure", async () => {
  await sumAll();
  await deliverToEarlier(() => deliverWhole("u-10"));
  await refusing("u-20", async () => {
    await deliverWaiting("u-20");
    await deliverWhole("u-21");
    await eventually(async () => (await sumsOf("u-21")).requests === 1);
    await expectExact();
    await erase("u-21");
    expect((await sumsOf("u-21")).requests).toBe(0);
  });
  await setProgress("earlier_at = null");
  await sumAll();
  expect((await sumsOf("u-20")).requests).toBe(1);
  await expectExact();
});

/** Lets additions to the sums of an end user fail, by a statement, while something runs. */
async function refusing(user: string, work: () => Promise<void>, how = "raise exception 'refused'"): Promise<void> {
  const { database } = installation;
  await sql`
    create function refuse_user() returns trigger language plpgsql as $$ begin ${sql.raw(how)}; return new; end $$`.execute(
    database,
  );
  await sql`
    create trigger refused before insert on usage_sums for each row
    when (new.dimension = 'user' and new.value = ${sql.lit(user)}) execute function refuse_user()`.execute(database);
  try {
    await work();
  } finally {
    await sql`drop function refuse_user cascade`.execute(database);
  }
}

test("a portion of turns that fails does not keep other turns out of the sums of end users", async () => {
  await sumAll();
  await deliverWaiting("u-13", 2);
  await deliverWaiting("u-14", 4);
  await deliverWaiting("u-15", 2);
  const without: UserPortion[] = [];
  await refusing("u-14", async () => {
    let isOver = false;
    while (!isOver) {
      try {
        isOver = !(await step({ maxRows: 2, without }));
      } catch (error) {
        expect(error).toBeInstanceOf(UnsummedUsers);
        without.push((error as UnsummedUsers).portion);
        await expectExact();
      }
    }
  });
  const requests = async () => [(await sumsOf("u-13")).requests, (await sumsOf("u-15")).requests];
  expect(await requests()).toEqual([2, 2]);
  expect([without.length > 0, (await sumsOf("u-14")).requests]).toEqual([true, 0]);
  await expectExact();
  await sumAll();
  expect((await sumsOf("u-14")).requests).toBe(4);
  await expectExact();
});

/** Rows of the ledger that this session has fetched lately. */
async function fetchedBefore(transaction: Transaction<Database>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int as count from pg_stat_xact_user_tables where relname ~ '^ledger_[0-9]+$'`.execute(
    transaction,
  );
  return rows[0]?.count ?? 0;
}

/** Rows of the ledger that a transaction fetches. */
async function fetched(work: (transaction: Transaction<Database>) => Promise<unknown>): Promise<number> {
  let count = 0;
  await rolledBack(async (transaction) => {
    // Postgres scans a small table, and reads a large one by its index.
    await sql`set local enable_seqscan = off`.execute(transaction);
    const before = await fetchedBefore(transaction);
    await work(transaction);
    count = (await fetchedBefore(transaction)) - before;
  });
  return count;
}

test("turns that are already in the sums of end users are not read again with waiting ones", async () => {
  await sumAll();
  await deliverWaiting("u-18");
  const { rows } = await sql<UserPortion>`
    select lower(unsummed_users)::text as since, upper(unsummed_users)::text as until from ledger_progress`.execute(
    installation.database,
  );
  await deliverWaiting("u-19", 40);
  await sumAll({ without: rows });
  await deliverWaiting("u-18");
  expect([await sumsOf("u-18"), await sumsOf("u-19")]).toEqual([
    { requests: 0, hours: 0 },
    { requests: 40, hours: 1 },
  ]);
  const reports = await fetched((transaction) => sql`select workspace from ${unsummedRows}`.execute(transaction));
  const steps = await fetched(async (transaction) => {
    await lockSums(transaction);
    for (const maxWaiting of [1, 0]) await sumUsers(transaction, { maxWaiting });
  });
  const isLow = (count: number) => count > 0 && count < 40;
  expect({ reports, steps, isLow: isLow(reports) && isLow(steps) }).toEqual({ reports, steps, isLow: true });
  await expectExact();
});

test("a range of turns is skipped when its first portion cannot be found", async () => {
  await deliverWaiting("u-18");
  const invalid = sumUsers(installation.database, { maxWaiting: 0, maxRows: -2 });
  await expect(invalid).rejects.toBeInstanceOf(UnsummedUsers);
});

test("a lost database connection is not held against the turns that were being summed", async () => {
  await sumAll();
  await deliverWaiting("u-22");
  const lost = async () =>
    expect(
      await step().then(
        () => "added",
        (error: unknown) => isOutage(error),
      ),
    ).toBe(true);
  await refusing("u-22", lost, "perform pg_terminate_backend(pg_backend_pid())");
  await sumAll();
  expect((await sumsOf("u-22")).requests).toBe(1);
});

/** Runs a worker that updates the sums, and collects its log. */
async function withWorker(work: (lines: readonly string[]) => Promise<void>): Promise<void> {
  const lines: string[] = [];
  const log = openLog("test", "info", { write: (line: string) => lines.push(line) });
  const folder = new UsageFolder(installation.database, log);
  folder.start();
  try {
    await work(lines);
  } finally {
    await folder.stop();
  }
}

const isCubed = async (): Promise<boolean> => {
  const { rows } = await sql`
    select from usage_cube_periods where is_stored and not is_day and period = ${new Date(startMs - 3_600_000)}`.execute(
    installation.database,
  );
  return rows.length > 0;
};

test("failing sums of end users delay no hour of the usage cube", async () => {
  await deliverWaiting("u-16");
  await sql`delete from usage_cube_periods`.execute(installation.database);
  await makeDue();
  await refusing("u-16", () =>
    withWorker(async (lines) => {
      await eventually(() => lines.some((line) => line.includes("turns cannot be added to the sums of end users")));
      await eventually(isCubed);
    }),
  );
  await expectExact();
});

test("failing hours of the usage cube delay no sums of end users", async () => {
  const { database } = installation;
  await sql`
    create function refuse_period() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`.execute(
    database,
  );
  await sql`
    create trigger refused before insert on usage_cube_periods for each row execute function refuse_period()`.execute(
    database,
  );
  try {
    await sql`delete from usage_cube_periods`.execute(database);
    await withWorker(async (lines) => {
      const failed = () => lines.filter((line) => line.includes("cannot be added to the cube of usage")).length;
      await eventually(() => failed() === 4);
    });
    await deliverWaiting("u-17");
    await makeDue();
    await withWorker(async () => await eventually(async () => (await sumsOf("u-17")).requests === 1));
  } finally {
    await sql`drop function refuse_period cascade`.execute(database);
  }
  await expectExact();
});

test("series equal the records whatever happens to end users, in any order", async () => {
  const delivered: [string, string][] = [];
  const some = (count: number) => deliverRandomTurns(installation, count);
  const isLater = async () => await setProgress("earlier_at = null");
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    deliver: () => some(8),
    one: async () => {
      const user = `v-${delivered.length % 3}`;
      for (const id of await deliverWaiting(user, 2)) delivered.push([id, user]);
    },
    portion: () => step({ maxRows: 3 }),
    undone: () => rolledBack((transaction) => sumUsers(transaction, { maxWaiting: 0, maxRows: 3 })),
    earlier: () => deliverToEarlier(() => some(6)),
    isLater,
    moved: async () => {
      const [id, user] = delivered.splice(Math.floor(delivered.length / 2), 1)[0] ?? [];
      if (id !== undefined && user !== undefined) await deliverPart(id, user);
    },
    erased: () => erase(`v-${delivered.length % 3}`),
  };
  const names = ["deliver", "one", "one", "portion", "portion", "undone", "earlier", "isLater", "moved", "moved"];
  const order = [...fc.sample(fc.constantFrom(...names), 18), "one", "erased", "portion", "moved"];
  const done: string[] = [];
  for (const name of order) {
    await works[name]?.();
    done.push(name);
    try {
      await expectExact();
    } catch (error) {
      throw new Error(`after ${done.join(", ")}`, { cause: error });
    }
  }
  await eventually(hasNone);
  await sumAll();
  await expectExact();
});
