/** admin-svc as a process: settings, bootstrap keys, SIGTERM, kill -9. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { listKeys } from "@sluice/admin-svc/store/key-list.js";
import { revokeKey } from "@sluice/admin-svc/store/keys.js";
import { openDatabase, writeConnectionLimits } from "@sluice/admin-svc/store/postgres/postgres.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, mintKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { sql } from "kysely";
import { type ChildProcess, spawn } from "node:child_process";
import { exchange } from "../gateway/raw-http.ts";
import { EventEmitter, once } from "node:events";
import { createDatabase } from "../support/database.ts";
import { programIn, root } from "../support/processes.ts";
import {
  addGuardrail,
  addKeys,
  assignGuardrail,
  bearerMetadata,
  resolveKey,
  serviceToken,
  testAuthor,
} from "./installation.ts";
import { PolicyWatcher } from "./watching.ts";

const main = programIn(root, "admin-svc");

let created: Awaited<ReturnType<typeof createDatabase>>;
const running = new Set<ChildProcess>();
beforeAll(async () => {
  created = await createDatabase();
});
afterAll(async () => {
  for (const child of running) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await created.drop();
});

interface Ready {
  readonly child: ChildProcess;
  readonly port: number;
  readonly healthPort: number;
}

function spawnAdmin(settings: Record<string, string>): ChildProcess {
  const env = {
    PATH: process.env["PATH"],
    DATABASE_URL: created.url,
    SLUICE_SERVICE_TOKEN: serviceToken,
    SLUICE_ADMIN_PORT: "0",
    SLUICE_ADMIN_HEALTH_PORT: "0",
    SLUICE_DRAIN_DELAY_MS: "0",
    ...settings,
  };
  const child = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.on("exit", () => running.delete(child));
  return child;
}

/** Settles with the ports named in the log. */
function startAdmin(settings: Record<string, string> = {}): Promise<Ready> {
  const child = spawnAdmin(settings);
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const line = text.split("\n").find((line) => line.includes('"msg":"ready"') && line.endsWith("}"));
      if (line === undefined) return;
      const { port, health_port: healthPort } = JSON.parse(line) as { port: number; health_port: number };
      resolve({ child, port, healthPort });
    });
    child.on("exit", (code) => reject(new Error(`exit code ${code}: ${text}`)));
  });
}

async function failure(settings: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  const child = spawnAdmin(settings);
  let stderr = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stderr };
}

const bootstrap = {
  SLUICE_BOOTSTRAP_MANAGEMENT_KEY: mintKey(KeyKind.MANAGEMENT),
  SLUICE_BOOTSTRAP_API_KEY: mintKey(KeyKind.INFERENCE),
};
const admin = bearerMetadata(bootstrap.SLUICE_BOOTSTRAP_MANAGEMENT_KEY);

test("admin-svc reports all wrong settings at once, with exit code 1", async () => {
  const swapped = { SLUICE_BOOTSTRAP_MANAGEMENT_KEY: bootstrap.SLUICE_BOOTSTRAP_API_KEY };
  const wrong = { ...swapped, SLUICE_BOOTSTRAP_API_KEY: "sk-sl-x", DATABASE_URL: "", SLUICE_SERVICE_TOKEN: "short" };
  const { code, stderr } = await failure(wrong);
  expect(code).toBe(1);
  for (const name of Object.keys(wrong)) expect(stderr).toContain(`${name}: `);
  expect(stderr).not.toContain(bootstrap.SLUICE_BOOTSTRAP_API_KEY);
  const elsewhere = await failure({ DATABASE_URL: "mysql://127.0.0.1/sluice", SLUICE_ADMIN_PORT: "http" });
  expect(elsewhere.stderr).toContain("DATABASE_URL: must be postgres://user:password@host:port/database\n");
  expect(elsewhere.stderr).toContain("SLUICE_ADMIN_PORT: must be a port, 0 to 65535\n");
});

test("bootstrap keys are made once, also by several concurrent starters; a revoked one stays revoked", async () => {
  const both = await Promise.all([startAdmin(bootstrap), startAdmin(bootstrap)]);
  const database = openDatabase(created.url, writeConnectionLimits, () => {});
  const apiKeyHash = hashKey(bootstrap.SLUICE_BOOTSTRAP_API_KEY);
  expect((await listKeys(database, defaultWorkspaceId)).map(({ kind }) => kind).sort()).toEqual([
    "inference",
    "management",
  ]);
  await revokeKey(database, testAuthor(), apiKeyHash);
  for (const { child } of both) {
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  }
  const { child, port } = await startAdmin(bootstrap);
  const client = dial(`127.0.0.1:${port}`);
  expect((await resolveKey(client, apiKeyHash)).caller).toBeUndefined();
  expect((await resolveKey(client, hashKey(bootstrap.SLUICE_BOOTSTRAP_MANAGEMENT_KEY))).caller).toBeDefined();
  client.close();
  child.kill("SIGTERM");
  await once(child, "exit");
  await database.destroy();
});

test("admin-svc makes no key without bootstrap keys in its settings", async () => {
  const empty = await createDatabase();
  const { child } = await startAdmin({ DATABASE_URL: empty.url });
  const database = openDatabase(empty.url, writeConnectionLimits, () => {});
  expect(await listKeys(database, defaultWorkspaceId)).toEqual([]);
  await database.destroy();
  child.kill("SIGTERM");
  await once(child, "exit");
  await empty.drop();
});

test("admin-svc answers probes, and SIGTERM ends it at once although a watch is open", async () => {
  const { child, port, healthPort } = await startAdmin();
  const probe = async (path: string) => (await fetch(`http://127.0.0.1:${healthPort}${path}`)).status;
  expect([await probe("/livez"), await probe("/readyz")]).toEqual([200, 200]);
  for (const version of ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.0"])
    expect(await exchange(healthPort, `GET /livez ${version}\r\nHost: x\r\n\r\n`)).toMatchObject({
      status: 505,
      body: expect.stringContaining("HTTP/1.1"),
    });
  const metrics = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
  expect(metrics).toContain("sluice_policy_generation");
  const watching = new PolicyWatcher(port);
  await watching.hear((message) => message.all);
  child.kill("SIGTERM");
  // Exit code 1 would mean a process ended by its drain limit, five minutes later.
  expect(await once(child, "exit")).toEqual([0, null]);
  watching.leave();
});

test("admin-svc keeps serving when the database closes every connection during writes, ten times", async () => {
  const { child, port } = await startAdmin(bootstrap);
  const database = openDatabase(created.url, writeConnectionLimits, () => {});
  const id = await addGuardrail(database);
  const keyHashes = await addKeys(database, 10);
  const client = dial(`127.0.0.1:${port}`);
  for (let round = 0; round < 10; round++) {
    const writes = keyHashes.map((keyHash) => assignGuardrail(client, id, [keyHash], admin));
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`.execute(database);
    await Promise.allSettled(writes);
  }
  expect(child.exitCode).toBeNull();
  const retried = async (): Promise<number> =>
    assignGuardrail(client, id, keyHashes, admin).then(
      ({ assignedCount }) => assignedCount,
      (fault: Fault) => (fault.shouldRetry ? retried() : Promise.reject(fault)),
    );
  expect(await retried()).toBe(10);
  client.close();
  child.kill("SIGTERM");
  await once(child, "exit");
  await database.destroy();
});

test("no acknowledged write is lost when admin-svc is killed during writes, ten times", async () => {
  const database = openDatabase(created.url, writeConnectionLimits, () => {});
  const guardrails: string[] = [];
  for (let i = 0; i < 5; i++) guardrails.push(await addGuardrail(database));
  const keyHashes = await addKeys(database, 20);
  for (let round = 0; round < 10; round++) {
    const { child, port } = await startAdmin(bootstrap);
    const client = dial(`127.0.0.1:${port}`);
    /** Number of answered writes by key. The write after the last answered one may be stored or not. */
    const answered = new Map<string, number>();
    let writes = 0;
    const enough = new EventEmitter();
    const write = async (keyHash: string): Promise<void> => {
      for (let i = 0; ; i++) {
        await assignGuardrail(client, guardrails[i % 5] as string, [keyHash], admin);
        answered.set(keyHash, i + 1);
        if (++writes === 60) enough.emit("reached");
      }
    };
    const writers = keyHashes.map((keyHash) => write(keyHash));
    const ended = Promise.allSettled(writers);
    await once(enough, "reached");
    child.kill("SIGKILL");
    await ended;
    client.close();
    const rows = await database.selectFrom("guardrail_key_assignments").selectAll().execute();
    const stored = new Map(rows.map((row) => [row.key_hash, row.guardrail_id]));
    for (const [keyHash, count] of answered) {
      expect([guardrails[(count - 1) % 5], guardrails[count % 5]]).toContain(stored.get(keyHash));
    }
  }
  await database.destroy();
}, 900_000);
