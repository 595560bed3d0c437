/** Runs before the tests: provides one Postgres server for all test files, the given one or one that lives as long as the run. */
import { join } from "node:path";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { startPostgres } from "@sluice/local/postgres.js";
import { createTemplate, serverVariable } from "../database.ts";
import { freePort } from "./free-ports.ts";
import { openRunFolder } from "./run-folder.ts";

/** Functions for the teardown. Jest loads setup and teardown in one process, but passes no values between them. */
export const afterRun: (() => Promise<void>)[] = [];

export default async function setup(): Promise<void> {
  const given = process.env["DATABASE_URL"] === "" ? undefined : process.env["DATABASE_URL"];
  const folder = openRunFolder(given);
  afterRun.push(() => folder.remove());
  if (given !== undefined) {
    process.env[serverVariable] = given;
    await migrateTemplate();
    return;
  }
  const server = await startPostgres({
    dataDir: join(folder.path, "postgres"),
    port: await freePort(),
    log: join(folder.path, "postgres.log"),
    fsync: false,
  });
  process.env[serverVariable] = server.url;
  afterRun.unshift(() => server.stop());
  await migrateTemplate();
}

async function migrateTemplate(): Promise<void> {
  const database = openDatabase(await createTemplate(), migrationConnectionLimits, () => {});
  try {
    await migrate(database);
  } finally {
    await database.destroy();
  }
}
