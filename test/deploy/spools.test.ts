/** Records left by a start with more inference processes, after a later start with fewer. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spoolFolder } from "@sluice/local/spools.js";
import { type House, startHouse } from "../support/house.ts";
import { eventually } from "../support/processes.ts";

let dataDir: string;
let house: House | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "sluice-test-spools-"));
});

afterEach(async () => {
  await house?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(inferenceReplicas: number): Promise<House> {
  const environment = { SLUICE_DRAIN_LIMIT_MS: "1000" };
  house = await startHouse({ embeddedPostgres: true, dataDir, inferenceReplicas, environment });
  return house;
}

const authorized = ({ apiKey }: House) => ({ authorization: `Bearer ${apiKey}` });

/** @returns the generation's id */
async function ask(asked: House): Promise<string> {
  const response = await fetch(`${asked.baseUrl}/responses`, {
    method: "POST",
    headers: { ...authorized(asked), "content-type": "application/json" },
    body: JSON.stringify({ model: "sluice/echo", input: "hello" }),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return response.headers.get("x-generation-id") as string;
}

const askMany = (asked: House): Promise<string[]> => Promise.all(Array.from({ length: 20 }, () => ask(asked)));

const statusOf = async (asked: House, id: string): Promise<number> =>
  (await fetch(`${asked.baseUrl}/generation?id=${id}`, { headers: authorized(asked) })).status;

const areStored = async (asked: House, ids: readonly string[]): Promise<boolean> =>
  (await Promise.all(ids.map((id) => statusOf(asked, id)))).every((status) => status === 200);

const bytesOf = (folder: string): number =>
  readdirSync(folder).reduce((bytes, name) => bytes + statSync(join(folder, name)).size, 0);

test("are delivered by the remaining process", async () => {
  const before = await start(2);
  // Both processes know the key now, so they serve while admin-svc does not answer.
  const stored = await askMany(before);
  await eventually(() => areStored(before, stored));
  process.kill(before.pids()["admin-svc"] as number, "SIGSTOP");
  const left = await askMany(before);
  await before.stop();
  expect(bytesOf(spoolFolder(dataDir, 1))).toBeGreaterThan(0);

  const after = await start(1);
  await eventually(() => areStored(after, left));
  expect(readdirSync(spoolFolder(dataDir, 1))).toEqual([]);
});
