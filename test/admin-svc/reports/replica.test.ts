/** Reports of records read a standby, and the primary while the standby lags behind a migration or is away. Other lists show each change at once. */
import { cpSync, rmSync, writeFileSync, appendFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { openAdmin } from "@sluice/admin-svc/admin.js";
import { toTurnRow } from "@sluice/admin-svc/store/ledger/turn-messages.js";
import { insertUsage } from "@sluice/admin-svc/store/ledger/usage.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import { type RunningPostgres, startPostgres } from "@sluice/local/postgres.js";
import { AuditService } from "@sluice/proto/gen/sluice/admin/v1/audit_service_pb.js";
import { KeyService } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { UsageService } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { call, dial } from "@sluice/proto/lib/rpc/dial.js";
import pg from "pg";
import { eventually } from "../../support/processes.ts";
import { freePort } from "../../support/runner/free-ports.ts";
import { bearerMetadata, serviceToken, timeoutMs } from "../installation.ts";
import { Process, turnRecord } from "../turns/deliveries.ts";

const log = openLog("test", "silent");
const managementKey = mintKey(KeyKind.MANAGEMENT);

let directory: string;
let primary: RunningPostgres;
let standby: RunningPostgres;
let replay: pg.Client;

/** Starts a server that follows the other: a copy of its files, made while it is stopped. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-replica-"));
  const [ofPrimary, ofStandby] = await Promise.all(
    ["primary", "standby"].map(async (name) => ({
      dataDir: join(directory, name),
      port: await freePort(),
      log: join(directory, `${name}.log`),
    })),
  );
  if (!ofPrimary || !ofStandby) throw new Error("two servers are needed");
  await (await startPostgres(ofPrimary)).stop();
  cpSync(ofPrimary.dataDir, ofStandby.dataDir, { recursive: true, preserveTimestamps: true });
  primary = await startPostgres(ofPrimary);
  const cluster = join(ofStandby.dataDir, "cluster");
  const { username, password, port } = new URL(primary.url);
  const address = `host=127.0.0.1 port=${port} user=${username} password=${password}`;
  appendFileSync(join(cluster, "postgresql.auto.conf"), `primary_conninfo = '${address}'\n`);
  writeFileSync(join(cluster, "standby.signal"), "");
  standby = await startPostgres(ofStandby);
  replay = new pg.Client({ connectionString: standby.url });
  replay.on("error", () => {});
  await replay.connect();
});
afterAll(async () => {
  await replay?.end().catch(() => {});
  await standby?.stop();
  await primary?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function withAdmin(work: (client: ReturnType<typeof dial>) => Promise<void>): Promise<void> {
  const lifecycle = new Lifecycle(log);
  const { port } = await openAdmin({
    databaseUrl: primary.url,
    replicaUrl: standby.url,
    port: 0,
    serviceToken,
    bootstrapKeys: [managementKey],
    lifecycle,
    log,
    registry: new Registry(),
  });
  const client = dial(`127.0.0.1:${port}`);
  try {
    await work(client);
  } finally {
    client.close();
    await lifecycle.drain(0);
  }
}

type Client = ReturnType<typeof dial>;

const turnsOf = async (client: Client): Promise<number> => {
  const { listGenerations: method } = UsageService.method;
  return (await call(client, method, create(method.input), bearerMetadata(managementKey), timeoutMs)).generations
    .length;
};

const keysOf = async (client: Client): Promise<readonly string[]> => {
  const { listKeys: method } = KeyService.method;
  return (await call(client, method, create(method.input), bearerMetadata(managementKey), timeoutMs)).keys.map(
    ({ name }) => name,
  );
};

async function storeTurn(): Promise<void> {
  const database = openDatabase(primary.url, writeConnectionLimits, () => {});
  try {
    await insertUsage(database, [], [toTurnRow(new Process().turn(turnRecord({})))]);
  } finally {
    await database.destroy();
  }
}

/** Waits until the standby has replayed the primary's whole log: without the last migration, reports would read the primary for ten seconds. */
async function replayed(): Promise<void> {
  const ofPrimary = new pg.Client({ connectionString: primary.url });
  await ofPrimary.connect();
  try {
    const { end } = (await ofPrimary.query("select pg_current_wal_lsn()::text as end")).rows[0];
    const behind = "select pg_last_wal_replay_lsn() < $1::pg_lsn as behind";
    await eventually(async () => !(await replay.query(behind, [end])).rows[0].behind);
  } finally {
    await ofPrimary.end();
  }
}

test("a standby database behind in migrations is not read", async () => {
  await replay.query("select pg_wal_replay_pause()");
  await withAdmin(async (client) => {
    await storeTurn();
    expect(await turnsOf(client)).toBe(1);
  });
  await replay.query("select pg_wal_replay_resume()");
});

test("reports on records read the standby, other lists read the primary, which serves all without a standby", async () => {
  await replayed();
  await withAdmin(async (client) => {
    expect(await turnsOf(client)).toBe(1);
    await replay.query("select pg_wal_replay_pause()");
    await storeTurn();
    const { createKey: method } = KeyService.method;
    await call(client, method, create(method.input, { name: "new" }), bearerMetadata(managementKey), timeoutMs);
    expect(await turnsOf(client)).toBe(1);
    expect(await keysOf(client)).toContain("new");
    const { verifyAudit } = AuditService.method;
    const { states } = await call(
      client,
      verifyAudit,
      create(verifyAudit.input),
      bearerMetadata(managementKey),
      timeoutMs,
    );
    expect(states.map(({ entries }) => Number(entries))).toEqual([1]);
    await replay.query("select pg_wal_replay_resume()");
    await eventually(async () => (await turnsOf(client)) === 2);
    await standby.stop();
    await storeTurn();
    expect(await turnsOf(client)).toBe(3);
  });
});
