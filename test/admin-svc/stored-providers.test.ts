/** How a process reads the providers of the database from admin-svc: completely, in order, and before it confirms a change. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import {
  createStoredProvider,
  deleteStoredProvider,
  replaceStoredProvider,
} from "@sluice/admin-svc/store/providers.js";
import { StoredProviders } from "@sluice/inference-svc/engine/stored-providers.js";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { emptySeed } from "@sluice/proto/config/seed.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { serveRpc } from "@sluice/proto/lib/rpc/serve.js";
import {
  ListStoredProvidersRequestSchema,
  ProviderService,
} from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { create } from "@bufbuild/protobuf";
import { sql } from "kysely";
import { eventually } from "../support/processes.ts";
import { startRpcProxy } from "../support/rpc-proxy.ts";
import { type AdminInstallation, openInstallation, serviceToken, testAuthor, timeoutMs } from "./installation.ts";

let installation: AdminInstallation;
const folder = mkdtempSync(join(tmpdir(), "sluice-stored-providers-"));
const file = join(folder, "sluice.yaml");
const ends: (() => void)[] = [];

beforeAll(async () => {
  writeFileSync(file, "echo: false\n");
  installation = await openInstallation();
});
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await sql`delete from stored_providers`.execute(installation.database);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await installation.close();
});

function openProcess(port = installation.port) {
  const client = dial(`127.0.0.1:${port}`);
  const lines: string[] = [];
  const log = openLog("test", "warn", { write: (line: string) => lines.push(line) });
  const registry = new Registry();
  const access = new Access({ client, token: serviceToken, process: "reader", log, registry });
  const secret = "a-secret-of-at-least-thirty-two-characters";
  const stored = new StoredProviders({ client, token: serviceToken, secret, log }, loadConfig(file, {}, emptySeed));
  access.onProviders(() => stored.read());
  ends.push(() => {
    stored.stop();
    access.stop();
  });
  const ids = () => stored.all.map(({ id }) => id);
  const confirmed = async () => /^sluice_policy_generation (\d+)/m.exec(await registry.metrics())?.[1];
  return { client, access, stored, lines, ids, confirmed };
}

const add = async (id: string) => {
  const settings = { dialect: "chat", base_url: "http://127.0.0.1:1/v1", models: ["one"] };
  const made = await createStoredProvider(installation.database, testAuthor(), {
    id,
    settings,
    sealedKeys: "",
    keyEnds: [],
  });
  if (!made) throw new Error(`${id} exists`);
  return made;
};

/** A row that admin-svc cannot send. */
const breakList = () =>
  sql`insert into stored_providers (id, settings, sealed_keys, key_ends, created_at)
      values ('broken', '{}', '', '{}', 'infinity')`.execute(installation.database);

const mendList = () => sql`delete from stored_providers where id = 'broken'`.execute(installation.database);

test("a process starts with the stored providers, confirms a change once it has read them, and warns once of failures", async () => {
  await breakList();
  const { generation } = await add("first");
  const { access, lines, ids, confirmed } = openProcess();
  let isStarted = false;
  const started = access.watch().then(() => (isStarted = true));
  await eventually(() => access.generation >= generation && lines.length > 0);
  const second = await add("second");
  await eventually(() => access.generation >= second.generation);
  expect([isStarted, ids(), await confirmed()]).toEqual([false, [], "0"]);
  await mendList();
  await started;
  expect(ids()).toEqual(["first", "second"]);
  await eventually(async () => (await confirmed()) === String(second.generation));
  expect(lines.filter((line) => line.includes("cannot be read"))).toHaveLength(1);

  await breakList();
  const third = await add("third");
  await eventually(() => access.generation >= third.generation && lines.length > 1);
  expect(await confirmed()).toBe(String(second.generation));
  await mendList();
  await eventually(async () => (await confirmed()) === String(third.generation));
  expect(ids()).toEqual(["first", "second", "third"]);
});

test("reading the stored providers ends with the process, even while the reading fails", async () => {
  await breakList();
  const { stored, lines } = openProcess();
  const reading = stored.read();
  await eventually(() => lines.length > 0);
  stored.stop();
  await reading;
  expect(stored.all).toEqual([]);
});

test("a late answer never replaces a newer list of stored providers", async () => {
  const proxy = await startRpcProxy(installation.port);
  ends.push(() => void proxy.stop());
  const { client, stored, ids } = openProcess(proxy.port);
  const release = proxy.hold("ListStoredProviders");
  const held = proxy.held();
  const early = stored.read();
  await held;
  await add("newer");
  // New calls pass through the proxy, while the first answer stays held.
  proxy.hold("ListStoredProviders")();
  const late = stored.read();
  const method = ProviderService.method.listStoredProviders;
  const request = create(ListStoredProvidersRequestSchema);
  await call(client, method, request, serviceMetadata(serviceToken), timeoutMs);
  release();
  await Promise.all([early, late]);
  expect(ids()).toEqual(["newer"]);
});

test("requests for the stored providers during a reading share the next reading", async () => {
  const proxy = await startRpcProxy(installation.port);
  ends.push(() => void proxy.stop());
  const { stored, ids } = openProcess(proxy.port);
  const release = proxy.hold("ListStoredProviders");
  const held = proxy.held();
  const early = stored.read();
  await held;
  await add("newer");
  const [one, other] = [stored.read(), stored.read()];
  release();
  await early;
  expect(ids()).toEqual([]);
  await one;
  expect(ids()).toEqual(["newer"]);
  expect(other).toBe(one);
});

test("an admin-svc of an earlier build has no stored providers, which does not prevent a start", async () => {
  const log = openLog("test", "silent");
  const lifecycle = new Lifecycle(log);
  const old = await serveRpc({ port: 0, lifecycle, log, services: [], routes: () => {} });
  lifecycle.started();
  const { stored, lines } = openProcess(old.port);
  await stored.read();
  await stored.read();
  expect(stored.all).toEqual([]);
  expect(lines).toEqual([expect.stringContaining("earlier build")]);
  await old.drain();
});

test("a change of a deleted stored provider does not change a new one with the same id", async () => {
  const { row } = await add("again");
  await deleteStoredProvider(installation.database, testAuthor(), "again");
  await add("again");
  const change = { id: "again", settings: { name: "Old" }, sealedKeys: "", keyEnds: [] };
  const revision = BigInt(row.revision);
  expect(await replaceStoredProvider(installation.database, testAuthor(), change, revision)).toBe("changed");
});
