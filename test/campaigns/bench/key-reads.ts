/**
 * Measures how admin-svc answers the key lookups of other processes: `node test/dist/campaigns/bench/key-reads.js` (half a minute). Fifty lookups run
 * at a time, each of a different one of 20,000 keys, first without a guardrail and then with one of twenty patterns; then 200 processes watch the
 * policy.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { startPostgres } from "@sluice/local/postgres.js";
import { AccessService } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import pg from "pg";
import { freePort } from "../../support/runner/free-ports.ts";
import { type Admin, startAdmin, benchToken } from "./admin.ts";
import { cpuNs, cpuNsOfChildren } from "../../support/machine.ts";

const keys = 20_000;
const underWay = 50;
/** Number of keys in a call for several keys. */
const together = 100;
const watches = 200;
const idleS = 10;
const log = openLog("bench", "warn");

const patterns = Array.from({ length: 20 }, (_, n) => ({
  pattern: `secret-${n}-[a-z]+`,
  label: null,
  action: "block",
}));

async function fill(databaseUrl: string): Promise<string[]> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    await database.query(
      `insert into api_keys (hash, workspace_id, name, kind, label)
       select encode(sha256(n::text::bytea), 'hex'), workspaces.id, 'k' || n, 'inference', 'sk-sl-many'
       from workspaces, generate_series(1, ${keys}) as n`,
    );
    await database.query(
      `insert into guardrails (id, workspace_id, name, content_filters)
       select lpad('1', 32, '0')::uuid, workspaces.id, 'g', $1::jsonb from workspaces`,
      [JSON.stringify(patterns)],
    );
    const half = keys / 2;
    await database.query(
      `insert into guardrail_key_assignments (key_hash, guardrail_id)
       select encode(sha256(n::text::bytea), 'hex'), lpad('1', 32, '0')::uuid from generate_series(${half + 1}, ${keys}) as n`,
    );
    await database.query("vacuum analyze");
    const { rows } = await database.query<{ hash: string }>(
      `select encode(sha256(n::text::bytea), 'hex') as hash from generate_series(1, ${keys}) as n`,
    );
    return rows.map(({ hash }) => hash);
  } finally {
    await database.end();
  }
}

async function measureReads(
  name: string,
  admin: Admin,
  postgresPid: number,
  hashes: readonly string[],
  perCall = 1,
): Promise<void> {
  const [began, used, spent] = [performance.now(), cpuNs(admin.pid), cpuNsOfChildren(postgresPid)];
  let next = 0;
  const read = async (): Promise<void> => {
    while (next < hashes.length) {
      const [keyHash, ...furtherKeyHashes] = hashes.slice(next, (next += perCall));
      const request = create(AccessService.method.resolveKey.input, {
        keyHash: keyHash!,
        furtherKeyHashes,
        refusesUnknown: true,
      });
      await call(admin.client, AccessService.method.resolveKey, request, serviceMetadata(benchToken), 10_000);
    }
  };
  await Promise.all(Array.from({ length: underWay }, read));
  const ms = performance.now() - began;
  const own = (cpuNs(admin.pid) - used) / hashes.length / 1_000;
  const postgres = (cpuNsOfChildren(postgresPid) - spent) / hashes.length / 1_000;
  console.log(
    `${name}: ${((1_000 * hashes.length) / ms).toFixed(0)} keys/s, processor of admin-svc ${own.toFixed(0)} us and of Postgres ${postgres.toFixed(0)} us a key`,
  );
}

async function measureWatches(admin: Admin): Promise<void> {
  const used = cpuNs(admin.pid);
  const began = performance.now();
  const all = Array.from(
    { length: watches },
    (_, n) =>
      new Access({
        client: dial(admin.address),
        token: benchToken,
        process: `process-${n}`,
        log,
        registry: new Registry(),
      }),
  );
  await Promise.all(all.map((access) => access.watch()));
  const begun = cpuNs(admin.pid) - used;
  const ms = performance.now() - began;
  const idle = cpuNs(admin.pid);
  await delay(idleS * 1_000);
  const beats = cpuNs(admin.pid) - idle;
  for (const access of all) access.stop();
  console.log(
    `${watches} watches: all begun after ${ms.toFixed(0)} ms, processor of admin-svc ${(begun / watches / 1_000).toFixed(0)} us each, and ${(beats / watches / idleS / 1_000).toFixed(0)} us a heartbeat (clear text)`,
  );
}

const directory = await mkdtemp(join(tmpdir(), "sluice-key-reads-"));
const server = await startPostgres({
  dataDir: join(directory, "postgres"),
  port: await freePort(),
  log: join(directory, "postgres.log"),
});
try {
  const admin = await startAdmin(server.url);
  try {
    const hashes = await fill(server.url);
    for (const _ of ["warm-up", "measured"]) {
      await measureReads("keys without a guardrail", admin, server.pid, hashes.slice(0, keys / 2));
      await measureReads("keys with a guardrail of twenty patterns", admin, server.pid, hashes.slice(keys / 2));
      await measureReads("a hundred of these at once", admin, server.pid, hashes.slice(keys / 2), together);
    }
    await measureWatches(admin);
  } finally {
    await admin.stop();
  }
} finally {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}
