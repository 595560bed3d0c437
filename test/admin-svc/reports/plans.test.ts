/** What statements read of a large ledger: none of those behind a request or a round of exports reads a table of records from end to end. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { prepareSchema } from "@sluice/admin-svc/prepare.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import { advanceCursor, claimBatch, exportLags, openCursors } from "@sluice/admin-svc/store/exports/cursors.js";
import { migrationLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { openLog } from "@sluice/proto/runtime/log/log.js";
import { type Kysely, sql } from "kysely";
import pg from "pg";
import { type TestDatabase, createDatabase } from "../../support/database.ts";
import { fillTurns } from "../../support/ledger/many-turns.ts";
import { nodesOf, planOf, statementsOf } from "../../support/ledger/plans.ts";

const turns = 60_000;
/** A table of so many records has some 3,000 pages, and an index of them 300. */
const mostPages = 1_500;

let created: TestDatabase;
let database: Kysely<Database>;
let client: pg.Client;
beforeAll(async () => {
  created = await createDatabase();
  await prepareSchema(created.url, openLog("test", "silent"));
  database = openDatabase(created.url, migrationLimits, () => {});
  client = new pg.Client({ connectionString: created.url });
  await client.connect();
  await fillTurns(database, { turns, days: 40, keys: 200, users: 2_000 });
});
afterAll(async () => {
  await client?.end();
  await database?.destroy();
  await created?.drop();
});

/** Scans of whole tables of records, and statements that read too many pages. */
async function heavyPlans(work: (database: Kysely<Database>) => Promise<unknown>): Promise<string[]> {
  const found: string[] = [];
  for (const statement of await statementsOf(created.url, work)) {
    const plan = await planOf(client, statement);
    const scans = nodesOf(plan).filter(
      (node) => node["Node Type"] === "Seq Scan" && /^(?:turns|usage_records)$/.test(node["Relation Name"] ?? ""),
    );
    const pages = (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    if (scans.length > 0 || pages > mostPages)
      found.push(`${scans.length} scans, ${pages} pages: ${statement.sql.trim().slice(0, 200)}`);
  }
  return found;
}

test("a round of exports reads a page or two of each idle workspace", async () => {
  await sql`insert into workspaces (name) select 'idle-' || n from generate_series(1, 300) as n`.execute(database);
  const name = "lake";
  const now = new Date();
  await openCursors(database, { name }, now);
  // Turns of before an export are not exported.
  await sql`update export_cursors set started = 0, delivered = 0 where workspace_id = (select workspace_id from turns limit 1)`.execute(
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
