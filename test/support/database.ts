/** A database for each test, on the server of the run; existing databases are never touched. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { runVariable } from "./runner/run-folder.ts";

/** Variable with the server's address, which the setup passes to the test files. */
export const serverVariable = "SLUICE_TEST_SERVER_URL";

export interface TestDatabase {
  readonly url: string;
  /** Drops the database, after ending its open sessions. */
  drop(): Promise<void>;
}

/** An empty database. */
export const createDatabase = (): Promise<TestDatabase> => copyDatabase("template1");

/** A database with the schema of this build, copied from a template: the migrations would take a tenth of a test's start. */
export const createMigratedDatabase = (): Promise<TestDatabase> => copyDatabase(templateName());

/** A copy of a database, without its sessions, like a restored backup. */
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

/** Creates the template of migrated databases, which is still empty. @returns its URL */
export async function createTemplate(): Promise<string> {
  await execute(serverOfRun(), `CREATE DATABASE ${templateName()}`);
  return urlOf(serverOfRun(), templateName());
}

const templateName = () => nameInRun("migrated");

/** Name of a database. It contains the name of the run, so the run can drop what an interrupted test has left. */
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
