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

/** An empty database. */
export const createDatabase = (): Promise<TestDatabase> => copyDatabase("template1");

/** A database with the schema of this build. Its migrations ran once, in the template: they take a tenth of a start. */
export const createMigratedDatabase = (): Promise<TestDatabase> => copyDatabase(templateName());

/** A copy of a database without sessions, as a backup has it. */
export const copyOfDatabase = (url: string): Promise<TestDatabase> => copyDatabase(new URL(url).pathname.slice(1));

async function copyDatabase(template: string): Promise<TestDatabase> {
  const name = nameInRun(randomBytes(8).toString("hex"));
  const server = serverOfRun();
  await execute(server, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: urlOf(server, name),
    drop: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/** Creates the template of migrated databases, still empty. @returns its URL */
export async function createTemplate(): Promise<string> {
  await execute(serverOfRun(), `CREATE DATABASE ${templateName()}`);
  return urlOf(serverOfRun(), templateName());
}

const templateName = () => nameInRun("migrated");

/** The database's name contains the run's, so that the run can drop leftovers of an interrupted test. */
const nameInRun = (name: string) => `sluice_test_${(process.env[runVariable] ?? "").toLowerCase()}_${name}`;

function serverOfRun(): string {
  const server = process.env[serverVariable];
  if (server === undefined) throw new Error(`${serverVariable} is not set: run the tests with jest.config.mjs`);
  return server;
}

function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
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
