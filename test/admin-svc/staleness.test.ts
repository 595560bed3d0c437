/** The policy served by a process while admin-svc is unreachable: for 300 s of its own clock, and not a second longer. */
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { openServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { sql } from "kysely";
import { findShortest, measureElapsedMs } from "../support/clock.ts";
import { eventually } from "../support/processes.ts";
import { startRpcProxy } from "../support/rpc-proxy.ts";
import { DatabaseLink } from "../support/database-link.ts";
import {
  type AdminInstallation,
  addGuardrail,
  addKey,
  assignGuardrail,
  bearerMetadata,
  openInstallation,
  serviceToken,
} from "./installation.ts";

let installation: AdminInstallation;
beforeAll(async () => {
  installation = await openInstallation();
});
afterAll(() => installation?.close());
afterEach(() => {
  jest.restoreAllMocks();
});

/** Moves every monotonic clock of this process forward by this time. */
function later(seconds: number): void {
  jest.restoreAllMocks();
  const now = performance.now.bind(performance);
  jest.spyOn(performance, "now").mockImplementation(() => now() + seconds * 1_000);
}

const unavailable = { status: 503, retryAfterMs: 1_000 };

test("without admin-svc a known key keeps its guardrail for 300 s, and an unknown key is 503", async () => {
  const [known, unknown] = [hashKey(await addKey(installation.database)), hashKey(await addKey(installation.database))];
  const guardrail = await addGuardrail(installation.database);
  await assignGuardrail(installation.client, guardrail, [known], bearerMetadata(installation.managementKey));
  const proxy = await startRpcProxy(installation.port);
  const client = dial(`127.0.0.1:${proxy.port}`);
  const access = new Access({
    client,
    token: serviceToken,
    process: "cut",
    log: installation.log,
    registry: new Registry(),
  });
  await access.watch();
  await access.resolve(known);
  await proxy.stop();
  const sendRequest = async (keyHash: string) => access.resolve(keyHash);
  for (const seconds of [0, 10, 100, 290]) {
    later(seconds);
    expect((await sendRequest(known)).caller?.guardrail?.id).toBe(guardrail);
    await expect(sendRequest(unknown)).rejects.toMatchObject(unavailable);
  }
  later(301);
  await expect(sendRequest(known)).rejects.toMatchObject(unavailable);
  access.stop();
});

const openAccess = async (port: number, registry = new Registry()): Promise<Access> => {
  const client = dial(`127.0.0.1:${port}`);
  const access = new Access({ client, token: serviceToken, process: "hanging", log: installation.log, registry });
  await access.watch();
  return access;
};

const guardrailOf = async (access: Access, keyHash: string) => (await access.resolve(keyHash)).caller?.guardrail?.id;

test("a changed key keeps its last policy for 300 s while the new one cannot be fetched", async () => {
  const [known, unknown] = [hashKey(await addKey(installation.database)), hashKey(await addKey(installation.database))];
  const [before, after] = [await addGuardrail(installation.database), await addGuardrail(installation.database)];
  await assignGuardrail(installation.client, before, [known], bearerMetadata(installation.managementKey));
  const proxy = await startRpcProxy(installation.port);
  const registry = new Registry();
  const access = await openAccess(proxy.port, registry);
  expect(await guardrailOf(access, known)).toBe(before);
  const { generation } = await assignGuardrail(
    installation.client,
    after,
    [known],
    bearerMetadata(installation.managementKey),
  );
  await eventually(() => access.generation >= generation);
  await proxy.stop();
  for (const seconds of [0, 10, 290]) {
    later(seconds);
    const { caller, isSuperseded, generation: served } = await access.resolve(known);
    expect([caller?.guardrail?.id, isSuperseded]).toEqual([before, true]);
    expect(served).toBeLessThan(generation);
    await expect(async () => access.resolve(unknown)).rejects.toMatchObject(unavailable);
  }
  later(301);
  await expect(async () => access.resolve(known)).rejects.toMatchObject(unavailable);
  expect(await registry.metrics()).toContain("\nsluice_policy_superseded_served_total 3\n");
  access.stop();
});

test("after an invalidation of every key the last policies of keys are still usable", async () => {
  const known = hashKey(await addKey(installation.database));
  const guardrail = await addGuardrail(installation.database);
  await assignGuardrail(installation.client, guardrail, [known], bearerMetadata(installation.managementKey));
  const proxy = await startRpcProxy(installation.port);
  const access = await openAccess(proxy.port);
  await access.resolve(known);
  const { generation } = access;
  await sql`update policy_generation set generation = generation + 5`.execute(installation.database);
  await eventually(() => access.generation > generation);
  await proxy.stop();
  expect(await guardrailOf(access, known)).toBe(guardrail);
  access.stop();
});

test("a superseded policy is never served while the new one is only slow to arrive", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  const guardrail = await addGuardrail(installation.database);
  const proxy = await startRpcProxy(installation.port);
  const access = await openAccess(proxy.port);
  await access.resolve(keyHash);
  const release = proxy.hold("ResolveKey");
  const held = proxy.held();
  await assignGuardrail(installation.client, guardrail, [keyHash], bearerMetadata(installation.managementKey));
  const resolved = guardrailOf(access, keyHash);
  await held;
  await new Promise((resolve) => setTimeout(resolve, 500));
  release();
  expect(await resolved).toBe(guardrail);
  access.stop();
  await proxy.stop();
});

test("a hanging admin-svc delays a known key by a quarter of a second, and is queried again", async () => {
  const keyHash = hashKey(await addKey(installation.database));
  const guardrail = await addGuardrail(installation.database);
  const proxy = await startRpcProxy(installation.port);
  const access = await openAccess(proxy.port);
  let seconds = 0;
  const waitedMs = async () => {
    await access.resolve(keyHash);
    // An answer about any key proves a reachable admin-svc: the next lookup waits for it.
    await access.resolve(crypto.randomUUID());
    later((seconds += 31));
    const release = proxy.hold("ResolveKey");
    const ms = await measureElapsedMs(() => access.resolve(keyHash));
    release();
    return ms;
  };
  expect(await findShortest(1_000, waitedMs)).toBeLessThan(1_000);
  await assignGuardrail(installation.client, guardrail, [keyHash], bearerMetadata(installation.managementKey));
  expect(await guardrailOf(access, keyHash)).toBe(guardrail);
  access.stop();
  await proxy.stop();
});

test("a hanging database delays only the first request of a changed key, and the new policy applies afterwards", async () => {
  const link = new DatabaseLink(installation.databaseUrl);
  const other = await openInstallation((url) => link.open(url));
  const keyHash = hashKey(await addKey(other.database));
  const guardrail = await addGuardrail(other.database);
  const access = await openAccess(other.port);
  await access.resolve(keyHash);
  await assignGuardrail(other.client, guardrail, [keyHash], bearerMetadata(other.managementKey));
  link.freeze();
  expect(await access.resolve(keyHash)).toMatchObject({ isSuperseded: true });
  const waitedMs = () =>
    measureElapsedMs(async () => expect(await access.resolve(keyHash)).toMatchObject({ isSuperseded: true }));
  expect(await findShortest(1_000, waitedMs)).toBeLessThan(1_000);
  link.thaw();
  await eventually(async () => !(await access.resolve(keyHash)).isSuperseded);
  expect(await guardrailOf(access, keyHash)).toBe(guardrail);
  access.stop();
  await other.close();
  await link.cut();
});

test("ten seconds without heartbeats of admin-svc are logged once with the reason, and so is their end", async () => {
  const lines: { level: number; msg: string; err?: { message: string } }[] = [];
  const log = openLog("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const file = join(mkdtempSync(join(tmpdir(), "sluice-test-token-")), "token");
  writeFileSync(file, "t".repeat(64));
  const client = dial(`127.0.0.1:${installation.port}`);
  const token = openServiceToken("", file, log);
  const access = new Access({ client, token, process: "other", log, registry: new Registry() });
  const heard = access.watch();
  expect(lines).toEqual([]);
  later(11);
  await eventually(() => lines.length > 0);
  later(60);
  writeFileSync(file, serviceToken);
  await heard;
  expect(lines).toMatchObject([
    { level: 40, msg: "admin-svc does not answer", err: { message: expect.stringContaining("UNAUTHENTICATED") } },
    { level: 30, msg: expect.stringContaining("token") },
    { level: 30, msg: "admin-svc answers again" },
  ]);
  access.stop();
  client.close();
  rmSync(dirname(file), { recursive: true });
});
