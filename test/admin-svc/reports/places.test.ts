/**
 * Reports have their own connections and slots, so they never delay the lookup of a key, and too many or too large reports are refused with a
 * message.
 */
import type { DescMethod, DescMethodUnary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Reports } from "@sluice/admin-svc/service/reports/reports.js";
import { administrationServices } from "@sluice/admin-svc/service/administration.js";
import { openDatabase, reportConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { sql } from "kysely";
import pg from "pg";
import { eventually } from "../../support/processes.ts";
import {
  type AdminInstallation,
  addKey,
  callAsAdministrator,
  openInstallation,
  resolveKey,
  waitingStatements,
} from "../installation.ts";

let installation: AdminInstallation;
let holder: pg.Client;
beforeAll(async () => {
  installation = await openInstallation();
  holder = new pg.Client({ connectionString: installation.databaseUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await installation.close();
});

/**
 * Makes reports of turns wait for the end of the work.
 * @param count number of clients that reload
 * @param isReady whether the work can begin, by the number of answers so far
 */
async function whileReportsWait(
  count: number,
  isReady: (answers: number) => Promise<boolean> | boolean,
  work: () => Promise<void>,
): Promise<void> {
  await holder.query("begin; lock table turns in access exclusive mode");
  let answers = 0;
  const reload = () =>
    callAsAdministrator(installation, UsageService.method.listGenerations, {})
      .catch((error: unknown) => error)
      .finally(() => answers++);
  const reloading = Array.from({ length: count }, reload);
  try {
    await eventually(() => isReady(answers));
    await work();
  } finally {
    await holder.query("rollback");
    await Promise.all(reloading);
  }
}

test("keys are resolved and administered while a console reloads slow reports", async () => {
  const keys = await Promise.all(Array.from({ length: 20 }, () => addKey(installation.database)));
  const twoRun = async () => (await waitingStatements(installation.database)) >= 2;
  await whileReportsWait(8, twoRun, async () => {
    const resolved = await Promise.all(keys.map((key) => resolveKey(installation.client, hashKey(key))));
    expect(resolved.map(({ caller }) => caller?.keyHash)).toEqual(keys.map(hashKey));
    await expect(callAsAdministrator(installation, UsageService.method.getCredits, {})).resolves.toBeDefined();
  });
});

/** Exempt lists: at most a hundred rows found by an index, or entries of the configuration file. */
const shortLists = ["ListAlertRuleEvents", "ListAlertChannels"];

const reports = administrationServices
  .flatMap(({ methods }): readonly DescMethod[] => methods)
  .filter((method): method is DescMethod & DescMethodUnary => method.methodKind === "unary")
  .filter(({ name }) => /^(?:List|Verify|GetUsage)/.test(name) && !shortLists.includes(name));

test("every long list, search and sum takes a report slot, and is refused with Retry-After when 2 run and 32 wait", async () => {
  expect(reports.length).toBeGreaterThan(8);
  const areRefused = (answers: number) => answers >= 6;
  await whileReportsWait(2 + 32 + 6, areRefused, async () => {
    const answers = await Promise.all(
      reports.map(async (method) => [
        method.name,
        await callAsAdministrator(installation, method, {}).catch((error: unknown) => error),
      ]),
    );
    const refused = {
      reason: FaultReason.RATE_LIMITED,
      status: 429,
      retryAfterMs: 2_000,
      message: "Too many reports are being made: at most 2 of a workspace and 4 in all at a time",
    };
    expect(answers).toMatchObject(reports.map(({ name }) => [name, refused]));
  });
});

const report = (workspaceId: string) => ({
  workspaceId,
  narrowedBy: "from and to",
  isOfRecords: false,
  signal: new AbortController().signal,
});

test("the check of an alert rule runs while all places of reports are taken, and ends at the time limit of a statement", async () => {
  const database = openDatabase(installation.databaseUrl, reportConnectionLimits, () => {});
  const gate = new Reports(database);
  const ends: (() => void)[] = [];
  try {
    const held = ["one", "one", "two", "two", "two"].map((name) =>
      gate.run(report(name), () => new Promise<void>((end) => ends.push(end))),
    );
    await eventually(() => ends.length === 4);
    await gate.check("a filter", (connection) => sql`select 1`.execute(connection));
    const slow = gate.check("a filter", (connection) => sql`select pg_sleep(60)`.execute(connection));
    await expect(slow).rejects.toMatchObject({ message: "The report reads too much for 3 s: narrow it with a filter" });
    await eventually(() => {
      for (const end of ends) end();
      return ends.length === 5;
    });
    for (const end of ends) end();
    await Promise.all(held);
  } finally {
    for (const end of ends) end();
    await database.destroy();
  }
});

test("six reports of one workspace at once, as of a console page, are all answered though each takes a second", async () => {
  const database = openDatabase(installation.databaseUrl, reportConnectionLimits, () => {});
  const gate = new Reports(database);
  try {
    const slow = () => gate.run(report("one"), (connection) => sql`select pg_sleep(1)`.execute(connection));
    await Promise.all(Array.from({ length: 6 }, slow));
  } finally {
    await database.destroy();
  }
});

test("a slow report is refused with advice to shorten it, and frees its slot", async () => {
  const database = openDatabase(installation.databaseUrl, reportConnectionLimits, () => {});
  const gate = new Reports(database);
  try {
    const slow = () => gate.run(report("one"), (connection) => sql`select pg_sleep(60)`.execute(connection));
    const refused = {
      reason: FaultReason.UNPROCESSABLE,
      status: 422,
      message: "The report reads too much for 3 s: narrow it with from and to",
    };
    const both = [slow(), slow()].map((each) => expect(each).rejects.toMatchObject(refused));
    // A report of another workspace gets a slot, while a further report of the same workspace waits for both running ones.
    await gate.run(report("two"), (connection) => sql`select 1`.execute(connection));
    await Promise.all(both);
    await gate.run(report("one"), (connection) => sql`select 1`.execute(connection));
  } finally {
    await database.destroy();
  }
});

test("a free report slot goes to the workspace served longest ago, and to its oldest waiting report", async () => {
  const database = openDatabase(installation.databaseUrl, reportConnectionLimits, () => {});
  const gate = new Reports(database);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string) =>
    gate.run(report(name.charAt(0)), () => {
      begun.push(name);
      return new Promise<void>((end) => ends.set(name, end));
    });
  const beganAfter = async (name: string) => {
    const count = begun.length;
    ends.get(name)?.();
    await eventually(() => begun.length > count);
    return begun.slice(count);
  };
  try {
    // Workspaces a and b use all slots and have long queues when c requests its first report.
    const all = ["a1", "a2", "b1", "b2", "a3", "b3", "a4", "b4", "c1", "c2"].map(begin);
    await eventually(() => begun.length === 4);
    expect(await beganAfter("a1")).toEqual(["c1"]);
    expect(await beganAfter("c1")).toEqual(["a3"]);
    expect(await beganAfter("b1")).toEqual(["b3"]);
    expect(await beganAfter("b2")).toEqual(["c2"]);
    expect(await beganAfter("c2")).toEqual(["b4"]);
    expect(await beganAfter("a2")).toEqual(["a4"]);
    for (const end of ends.values()) end();
    await Promise.all(all);
  } finally {
    for (const end of ends.values()) end();
    await database.destroy();
  }
});
