/** Before the run: one Postgres server for all test files, the given one or an embedded one that lives as long as the run. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@sluice/local/postgres.js";
import { serverVariable } from "./database.ts";
import { freePort } from "./free-ports.ts";

/** What teardown ends; jest loads both files in one process but hands nothing over. */
export const afterRun: (() => Promise<void>)[] = [];

export default async function setup(): Promise<void> {
  const given = process.env["DATABASE_URL"];
  if (given !== undefined && given !== "") {
    process.env[serverVariable] = given;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-postgres-"));
  const server = await startPostgres({
    dataDir: join(folder, "data"),
    port: await freePort(),
    log: join(folder, "log"),
    fsync: false,
  });
  process.env[serverVariable] = server.url;
  afterRun.push(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
}
