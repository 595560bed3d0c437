/**
 * Measures the removal of old turns from the ledger, and the space that it frees: `node test/dist/campaigns/bench/retention.js` (some minutes, mostly
 * to fill the tables), or with another number of turns than a million. The turns are from the last 24 hours, in two partitions.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { earliestDay, removeDay } from "@sluice/admin-svc/store/ledger/days.js";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { startPostgres } from "@sluice/local/postgres.js";
import { sql } from "kysely";
import { fillLedger } from "../../support/ledger/many-turns.ts";
import { freePort } from "../../support/runner/free-ports.ts";

const turns = Number(process.argv[2] ?? 1_000_000);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const folder = await mkdtemp(join(tmpdir(), "sluice-retention-"));
const server = await startPostgres({
  dataDir: join(folder, "postgres"),
  port: await freePort(),
  log: join(folder, "postgres.log"),
});
const database = openDatabase(server.url, { ...migrationConnectionLimits, max: 1 }, () => {});
const bytes = async () => {
  const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database())::float8 as bytes`.execute(
    database,
  );
  return (rows[0]?.bytes ?? Number.NaN) / 1_000_000;
};
try {
  say(`load average ${loadavg()[0]?.toFixed(1)}; filling ${turns.toLocaleString("en")} turns`);
  await migrate(database);
  const empty = await bytes();
  await fillLedger(database, { turns, days: 1, keys: 1_000, users: 10_000 });
  await sql`checkpoint`.execute(database);
  say(`${(await bytes()).toFixed(0)} MB with the turns, ${empty.toFixed(0)} MB before`);
  const future = new Date(Date.now() + 10 * 86_400_000);
  let removed = 0;
  const began = performance.now();
  for (let day = await earliestDay(database, future); day !== undefined; day = await earliestDay(database, future))
    removed += (await removeDay(database, day)).turns;
  const took = performance.now() - began;
  say(
    `${removed.toLocaleString("en")} turns removed in ${took.toFixed(0)} ms, ${(await bytes()).toFixed(0)} MB are left`,
  );
} finally {
  await database.destroy();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
