/** A separate database for each test, on the server of the run; existing databases are never touched. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { runVariable } from "./runner/run-folder.ts";

/** Variable by which setup passes the server's address to the test files. */
export const serverVariable = "SLUICE_TEST_SERVER_URL";

export interface TestDatabase {
  readonly url: string;
  /** Ends open sessions first. */
  drop(): Promise<void>;
}

export async function createDatabase(): Promise<TestDatabase> {
  const server = process.env[serverVariable];
  if (server === undefined) throw new Error(`${serverVariable} is not set: run the tests with jest.config.mjs`);
  // The database's name contains the run's, so that the run can drop leftovers of an interrupted test.
  const run = (process.env[runVariable] ?? "").toLowerCase();
  const name = `sluice_test_${run}_${randomBytes(8).toString("hex")}`;
  await execute(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
