/**
 * Work of the statements behind a batch, counted in rows. Postgres plans them without knowing a batch's size and assumes a few
 * records: a plan with one scan of the batch per record took five times as long.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { tryFold } from "@sluice/admin-svc/store/ledger/fold.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import type { Database } from "@sluice/admin-svc/store/database.js";
import type { CompiledQuery, Kysely } from "kysely";
import pg from "pg";
import { type TestDatabase, createMigratedDatabase } from "../../support/database.ts";
import { type PlanNode, nodesOf, planOf, statementsOf as sentStatements } from "../../support/ledger/plans.ts";
import { Process } from "./deliveries.ts";

const turns = 250;
/** Rows are more than records where they are summed: each record counts in nine dimensions, by hour and by day. */
const mostRowsOfNode = 30 * turns;

/** A database without an admin-svc, which would change the sums meanwhile. */
let created: TestDatabase;
beforeAll(async () => {
  created = await createMigratedDatabase();
});
afterAll(() => created?.drop());

const rowsOf = (node: PlanNode): number =>
  (node["Actual Rows"] + (node["Rows Removed by Join Filter"] ?? 0)) * node["Actual Loops"];

/** The statements with which a piece of work writes. */
const statementsOf = async (work: (database: Kysely<Database>) => Promise<unknown>) =>
  (await sentStatements(created.url, work)).filter(({ sql }) => /\b(?:insert|update|delete)\b/.test(sql));

/** The nodes of a query plan that handle the most rows. */
const busiestNodes = async (client: pg.Client, statement: CompiledQuery): Promise<string[]> =>
  nodesOf(await planOf(client, statement))
    .filter((node) => rowsOf(node) > mostRowsOfNode)
    .map((node) => `${node["Node Type"]}: ${rowsOf(node)} rows`);

async function busyNodes(statements: readonly CompiledQuery[]): Promise<string[]> {
  const client = new pg.Client({ connectionString: created.url });
  await client.connect();
  try {
    const found: string[] = [];
    for (const statement of statements) found.push(...(await busiestNodes(client, statement)));
    return found;
  } finally {
    await client.end();
  }
}

/** Turns with a single call, each of a different key. */
const batch = () => {
  const process = new Process();
  const each = Array.from({ length: turns }, (_, n) => ({
    generationId: `gen-${randomUUID()}`,
    keyHash: n.toString(16).padStart(64, "0"),
  }));
  return {
    calls: each.map((fields) => toRow(process.call(fields))),
    turns: each.map((fields) => toTurnRow(process.turn(fields))),
  };
};

const store = (database: Kysely<Database>) => {
  const { calls, turns } = batch();
  return insertUsage(database, calls, turns);
};

test("storing whole turns does not read the batch once for each turn", async () => {
  const statements = await statementsOf(store);
  // The turns of this batch are stored by now, so the plan is measured with turns of other ids.
  const others = statements.map(({ parameters, ...statement }) => ({
    ...statement,
    parameters: parameters.map((value) =>
      typeof value === "string" ? value.replaceAll('"gen-', '"gen-other-') : value,
    ),
  }));
  expect(others).not.toEqual(statements);
  expect(await busyNodes(others)).toEqual([]);
});

test("storing parts of turns does not read the batch once for each part", async () => {
  const statements = await statementsOf((database) => insertUsage(database, batch().calls));
  // The records of this batch are stored by now and would be skipped, so the plan is measured with records of other ids.
  const others = statements.map((statement) =>
    statement.sql.includes("insert into usage_records")
      ? { ...statement, parameters: [JSON.stringify(batch().calls), "[]"] }
      : statement,
  );
  expect(others).not.toEqual(statements);
  expect(await busyNodes(others)).toEqual([]);
});

test("writing the sums of a batch does not read the batch once for each sum", async () => {
  await statementsOf(store);
  const folds = await statementsOf(tryFold);
  expect(folds.length).toBeGreaterThan(1);
  expect(await busyNodes(folds)).toEqual([]);
});
