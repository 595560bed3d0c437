/** Records left by a start with other numbers of inference processes. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spoolFolder } from "@sluice/local/spools.js";
import { type TestDatabase, createDatabase } from "../support/database.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";

let dataDir: string;
let database: TestDatabase;
let installation: Installation | undefined;

beforeEach(async () => {
  database = await createDatabase();
  dataDir = mkdtempSync(join(tmpdir(), "sluice-test-spools-"));
});

afterEach(async () => {
  await installation?.stop();
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(inferenceReplicas: number): Promise<Installation> {
  const environment = { SLUICE_DRAIN_LIMIT_MS: "1000", DATABASE_URL: database.url };
  installation = await startInstallation({ dataDir, inferenceReplicas, environment });
  return installation;
}

const authorized = ({ apiKey }: Installation) => ({ authorization: `Bearer ${apiKey}` });

/** @returns the generation id of the request */
async function ask(asked: Installation): Promise<string> {
  const response = await fetch(`${asked.baseUrl}/responses`, {
    method: "POST",
    headers: { ...authorized(asked), "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "hello" }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return response.headers.get("x-generation-id") as string;
}

const askMany = (asked: Installation): Promise<string[]> => Promise.all(Array.from({ length: 20 }, () => ask(asked)));

const statusOf = async (asked: Installation, id: string): Promise<number> =>
  (await fetch(`${asked.baseUrl}/generation?id=${id}`, { headers: authorized(asked) })).status;

const areStored = async (asked: Installation, ids: readonly string[]): Promise<boolean> =>
  (await Promise.all(ids.map((id) => statusOf(asked, id)))).every((status) => status === 200);

const bytesOf = (folder: string): number =>
  readdirSync(folder).reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0);

test("a change between two inference processes and one shared process delivers the records left in every spool", async () => {
  const before = await start(2);
  // Both processes know the key now, so they serve while admin-svc does not answer.
  const stored = await askMany(before);
  await eventually(() => areStored(before, stored));
  process.kill(before.pids()["admin-svc"] as number, "SIGSTOP");
  const left = await askMany(before);
  await before.stop();
  expect(bytesOf(spoolFolder(dataDir, 1))).toBeGreaterThan(0);

  const shared = await start(0);
  left.push(await ask(shared));
  await eventually(() => areStored(shared, left));
  expect(readdirSync(spoolFolder(dataDir, 1)).filter((name) => name.startsWith("usage-"))).toEqual([]);
  process.kill(shared.pids()["admin-svc"] as number, "SIGSTOP");
  const killed = await ask(shared);
  process.kill(shared.pids()["supervisor"] as number, "SIGKILL");

  const after = await start(1);
  await eventually(() => areStored(after, [killed]));
});
