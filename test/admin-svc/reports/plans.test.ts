/**
 * Plans for a large ledger: no statement behind a request or a round of exports reads a table of records from end to end, neither the ledger nor the tables of
 * earlier records.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Database, defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { advanceCursor, claimBatch, exportLags, openCursors } from "@sluice/admin-svc/store/exports/cursors.js";
import { pageOfKeys } from "@sluice/admin-svc/store/key-list.js";
import { type ActivityFilter, activityOf } from "@sluice/admin-svc/store/ledger/activity.js";
import { tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import { usageSeries } from "@sluice/admin-svc/store/ledger/record-series.js";
import { pageOfTurns } from "@sluice/admin-svc/store/ledger/turn-pages.js";
import { dimensions } from "@sluice/admin-svc/store/ledger/usage-rollup.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { type Kysely, sql } from "kysely";
import pg from "pg";
import { type TestDatabase, createMigratedDatabase } from "../../support/database.ts";
import { fillLedger, fillTurns, hashOfKey } from "../../support/ledger/many-turns.ts";
import { nodesOf, planOf, statementsOf } from "../../support/ledger/plans.ts";

const turns = 30_000;
const earlierTurns = 15_000;
/**
 * Number of records: they fill some 750 pages in the tables of earlier records, and 1,300 in the ledger's 32 partitions. Fourteen names of fifty
 * rows read 1,400 pages, and a page of rows may scan the partitions of its days.
 */
const page = { days: 4, pages: 2_400 };

/**
 * Limits for a search, which reads ever longer periods while it is fast: on a fast machine a statement may read as much as the whole ledger of
 * this test.
 */
const search = { days: 41, pages: 4_000 };

let created: TestDatabase;
let database: Kysely<Database>;
let client: pg.Client;
beforeAll(async () => {
  created = await createMigratedDatabase();
  database = openDatabase(created.url, migrationConnectionLimits, () => {});
  client = new pg.Client({ connectionString: created.url });
  await client.connect();
  await fillTurns(database, { turns: earlierTurns, days: 40, keys: 200, users: 2_000 });
  await fillLedger(database, { turns, days: 40, keys: 200, users: 2_000 });
  while ((await tryFold(database)) === "some");
  await sql`vacuum analyze`.execute(database);
});
afterAll(async () => {
  await client?.end();
  await database?.destroy();
  await created?.drop();
});

const isOfRecords = (relation = ""): boolean => /^(?:turns|usage_records|ledger_\d{8})$/.test(relation);

/**
 * Plans with scans of whole record tables, or with too many pages read.
 * @param limits number of partitions of the ledger that may be read from end to end, and of pages
 */
async function heavyPlans(work: (database: Kysely<Database>) => Promise<unknown>, limits = page): Promise<string[]> {
  const found: string[] = [];
  for (const statement of await statementsOf(created.url, work)) {
    const plan = await planOf(client, statement);
    const scans = nodesOf(plan).filter(
      (node) =>
        node["Node Type"] === "Seq Scan" &&
        node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) > 100 &&
        isOfRecords(node["Relation Name"]),
    );
    const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    const days = scans.filter((node) => node["Relation Name"]?.startsWith("ledger_"));
    if (days.length > limits.days || scans.length > days.length || pages > limits.pages)
      found.push(`${scans.length} scans, ${pages} pages: ${statement.sql.trim().slice(0, 200)}`);
  }
  return found;
}

test("an export reads only a page or two of each idle workspace per round", async () => {
  await sql`insert into workspaces (name) select 'idle-' || n from generate_series(1, 150) as n`.execute(database);
  const name = "lake";
  const now = new Date();
  await openCursors(database, { name }, now);
  // Turns older than the creation of an export are not exported.
  await sql`update export_positions set started = 0, delivered = 0 where workspace_id = (select workspace_id from turns limit 1)`.execute(
    database,
  );
  await sql`analyze`.execute(database);
  const claim = { name, now, until: now, limit: 100 };
  const round = async (connected: Kysely<Database>) => {
    const batch = await claimBatch(connected, claim);
    if (batch === undefined || batch === "busy") throw new Error(String(batch));
    await advanceCursor(connected, batch, now);
    await exportLags(connected, now);
  };
  expect(await heavyPlans(round)).toEqual([]);
});

const workspaceId = defaultWorkspaceId;
const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
const key = hashOfKey(7);

const activities: readonly Omit<ActivityFilter, "workspaceId">[] = [
  {},
  { byOperation: true },
  { byDoor: true },
  { byTask: true },
  { date: day },
  { keyHash: key },
  { door: "chat" },
  { date: day, keyHash: key, door: "chat", byOperation: true },
];

test.each(activities)("activity by %j is read from sums", async (filter) => {
  expect(await heavyPlans((connected) => activityOf(connected, { workspaceId, ...filter }))).toEqual([]);
});

test.each(["created", "name", "spent", "last_used"] as const)(
  "keys sorted by %s are read from their totals",
  async (order) => {
    for (const sort of [order, `-${order}`] as const) {
      const list = (connected: Kysely<Database>) =>
        pageOfKeys(connected, { workspaceId, includeDisabled: true, sort }, { offset: 0, limit: 100 });
      expect(await heavyPlans(list)).toEqual([]);
    }
  },
);

const filters = {
  key,
  model: "acme/model-3",
  provider: "provider-4",
  status: "502",
  outcome: "cancelled",
  user: "user-5",
  session_id: "s-9",
  request_id: "req_none",
  door: "chat",
  operation: "embed",
  guardrail_id: "g-none",
} as const;
const names = Object.keys(filters) as (keyof typeof filters)[];

/** Filters without an index in the ledger: a query by them is a search. */
const unindexed = ["provider", "door"];

test.each(names)(
  "calls by %s, with or without another filter, are found by reading few rows, even without a match",
  async (name) => {
    // Each pair of filters is tested once.
    for (const other of names.slice(names.indexOf(name))) {
      const query = { [name]: filters[name], [other]: filters[other] };
      const limits = name === other && !unindexed.includes(name) ? undefined : search;
      const heavy = await heavyPlans((connected) => pageOfTurns(connected, workspaceId, query), limits);
      expect([other, heavy]).toEqual([other, []]);
    }
  },
);

test("a search by two frequent filters without a common row gives up in time, with a cursor", async () => {
  const query = { model: "acme/model-0", provider: "provider-1" };
  let cursor: string | undefined;
  do {
    const page = await pageOfTurns(database, workspaceId, { ...query, ...(cursor !== undefined && { cursor }) });
    expect(page.rows).toEqual([]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
});

test("pages of a search by two filters show each turn once", async () => {
  const query = { model: "acme/model-3", provider: "provider-3", limit: 100 };
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await pageOfTurns(database, workspaceId, { ...query, ...(cursor !== undefined && { cursor }) });
    seen.push(...page.rows.map(({ generation_id: id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(seen).toHaveLength((turns + earlierTurns) / 20);
  expect(new Set(seen).size).toBe(seen.length);
});

test.each([undefined, ...dimensions])("a series by %s is read from sums", async (by) => {
  const to = new Date(Math.ceil(Date.now() / 86_400_000) * 86_400_000);
  const query = {
    workspaceId,
    step: "day",
    by: by === undefined ? [] : [by],
    filter: {},
    from: new Date(to.getTime() - 30 * 86_400_000),
    to,
    limit: 10,
  } as const;
  const statements = await statementsOf(created.url, (connected) => usageSeries(connected, query));
  for (const statement of statements) {
    const read = nodesOf(await planOf(client, statement)).map((node) => node["Relation Name"]);
    expect(read.filter((relation) => relation === "turns" || relation === "usage_records")).toEqual([]);
  }
});
