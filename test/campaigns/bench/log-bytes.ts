/**
 * Measures the bytes of write-ahead log for a stored turn in a large ledger, right after a checkpoint, with random ids and with ids in order of time:
 * `node test/dist/campaigns/bench/log-bytes.js` (some five minutes, mostly to fill the tables), or with another number of turns. The store module
 * gets the batches directly.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { migrate } from "@sluice/admin-svc/store/postgres/migrate.js";
import { migrationConnectionLimits, openDatabase } from "@sluice/admin-svc/store/postgres/postgres.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { toRow } from "@sluice/admin-svc/store/ledger/usage-messages.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { startPostgres } from "@sluice/local/postgres.js";
import { newId, newUuid } from "@sluice/proto/lib/ids/id.js";
import { sql } from "kysely";
import pg from "pg";
import { Process } from "../../admin-svc/turns/deliveries.ts";
import { fillLedger, hashOfKey } from "../../support/ledger/many-turns.ts";
import { cpuNsOfChildren } from "../../support/machine.ts";
import { freePort } from "../../support/runner/free-ports.ts";
import { median } from "./measure/rounds.ts";

const turns = Number(process.argv[2] ?? 1_000_000);
const rounds = 3;
const batches = 20;
const turnsOfBatch = 250;
const keys = 1_000;
const users = 10_000;
const turnsOfSession = 6;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const below = (limit: number): number => Math.floor(Math.random() * limit);

const kinds = {
  // Random hexadecimal ids, like those of the filled tables, spread the new rows over all pages of an index.
  "random ids": (prefix: string) => `${prefix}${randomUUID().replaceAll("-", "").slice(0, 22)}`,
  "ids ordered by time": newId,
} as const;
type Kind = keyof typeof kinds;

function batchOf(process: Process, kind: Kind) {
  const [calls, records] = [[] as ReturnType<typeof toRow>[], [] as ReturnType<typeof toTurnRow>[]];
  let sessionId = "";
  for (let n = 0; n < turnsOfBatch; n++) {
    if (n % turnsOfSession === 0) sessionId = kinds["random ids"]("s-");
    const model = `acme/model-${below(20)}`;
    const common = {
      keyHash: hashOfKey(below(keys)),
      generationId: kinds[kind]("gen-"),
      requestId: kinds[kind]("req_"),
      openedAtMs: BigInt(Date.now()),
      user: `user-${below(users)}`,
      sessionId,
      model,
    };
    calls.push(toRow(process.call({ ...common, turnId: newUuid(), provider: "acme", upstreamModel: model })));
    records.push(toTurnRow(process.turn(common)));
  }
  return { calls, records };
}

interface Taken {
  readonly bytes: number;
  readonly us: number;
  /** Bytes of full page images in the log, by table and index. */
  readonly pages: ReadonlyMap<string, number>;
}

async function store(url: string, kind: Kind): Promise<void> {
  const database = openDatabase(url, migrationConnectionLimits, () => {});
  const process = new Process();
  try {
    for (let n = 0; n < batches; n++) {
      const { calls, records } = batchOf(process, kind);
      await insertUsage(database, calls, records);
    }
  } finally {
    await database.destroy();
  }
}

async function measure(
  server: Awaited<ReturnType<typeof startPostgres>>,
  client: pg.Client,
  kind: Kind,
): Promise<Taken> {
  const stored = batches * turnsOfBatch;
  const at = async () => (await client.query<{ at: string }>("select pg_current_wal_insert_lsn() as at")).rows[0]?.at;
  await client.query("checkpoint");
  const [from, spent] = [await at(), cpuNsOfChildren(server.pid)];
  await store(server.url, kind);
  const us = (cpuNsOfChildren(server.pid) - spent) / 1_000 / stored;
  const to = await at();
  const { rows } = await client.query<{ bytes: number }>("select ($2::pg_lsn - $1::pg_lsn)::float8 as bytes", [
    from,
    to,
  ]);
  const { rows: pages } = await client.query<{ name: string; bytes: number }>(
    `select relname as name, sum(block_fpi_length)::float8 as bytes
     from pg_get_wal_block_info($1, $2) as block join pg_class on pg_class.relfilenode = block.relfilenode group by 1`,
    [from, to],
  );
  return {
    bytes: (rows[0]?.bytes ?? Number.NaN) / stored,
    us,
    pages: new Map(pages.map(({ name, bytes }) => [name, bytes / stored])),
  };
}

function print(kind: Kind, taken: readonly Taken[]): void {
  const bytes = taken.map(({ bytes }) => bytes);
  const range = `${Math.min(...bytes).toFixed(0)} to ${Math.max(...bytes).toFixed(0)}`;
  say(
    `${kind}: ${median(bytes).toFixed(0)} bytes of log a turn (${range}), ${median(taken.map(({ us }) => us)).toFixed(0)} us of Postgres`,
  );
  const names = [...new Set(taken.flatMap(({ pages }) => [...pages.keys()]))];
  const parts = names.map((name) => [name, median(taken.map(({ pages }) => pages.get(name) ?? 0))] as const);
  const largest = parts.filter(([, size]) => size >= 50).toSorted(([, a], [, b]) => b - a);
  say(`  whole pages: ${largest.map(([name, size]) => `${name} ${size.toFixed(0)}`).join(", ")}`);
}

async function fill(url: string): Promise<void> {
  const database = openDatabase(url, { ...migrationConnectionLimits, max: 1 }, () => {});
  try {
    await migrate(database);
    await fillLedger(database, { turns, days: 40, keys, users });
    // The turns are marked as summed, since their sums are not needed.
    await sql`update ledger_progress set folded = pg_snapshot_xmin(pg_current_snapshot())::text::bigint`.execute(
      database,
    );
  } finally {
    await database.destroy();
  }
}

const directory = await mkdtemp(join(tmpdir(), "sluice-log-"));
const server = await startPostgres({
  dataDir: join(directory, "postgres"),
  port: await freePort(),
  log: join(directory, "postgres.log"),
});
const client = new pg.Client({ connectionString: server.url });
try {
  await client.connect();
  await client.query("create extension pg_walinspect");
  say(`load average ${loadavg()[0]?.toFixed(1)}; filling ${turns.toLocaleString("en")} turns`);
  await fill(server.url);
  await client.query("vacuum analyze");
  const taken: Record<Kind, Taken[]> = { "random ids": [], "ids ordered by time": [] };
  for (let round = 0; round < rounds; round++)
    for (const kind of Object.keys(kinds) as Kind[]) taken[kind].push(await measure(server, client, kind));
  for (const kind of Object.keys(kinds) as Kind[]) print(kind, taken[kind]);
} finally {
  await client.end();
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
