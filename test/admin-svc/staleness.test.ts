/** What a process knows while it cannot ask: for 300 s of its own clock, and not a second longer. */
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Access } from "@sluice/proto/runtime/access.js";
import { hashKey } from "@sluice/proto/runtime/key.js";
import { openLog } from "@sluice/proto/runtime/log.js";
import { Registry } from "@sluice/proto/runtime/metrics.js";
import { dial } from "@sluice/proto/runtime/rpc/dial.js";
import { openServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { eventually } from "../support/processes.ts";
import { startRpcProxy } from "../support/rpc-proxy.ts";
import { type AdminHouse, addGuardrail, addKey, assign, bearer, openHouse, serviceToken } from "./house.ts";

let house: AdminHouse;
beforeAll(async () => {
  house = await openHouse();
});
afterAll(() => house?.close());
afterEach(() => {
  jest.restoreAllMocks();
});

/** Every monotonic clock of this process goes on from so much later. */
function later(seconds: number): void {
  jest.restoreAllMocks();
  const now = performance.now.bind(performance);
  jest.spyOn(performance, "now").mockImplementation(() => now() + seconds * 1_000);
}

const unavailable = { status: 503, retryAfterMs: 1_000 };

test("without admin-svc a known key keeps its guardrail for 300 s, an unknown one is 503", async () => {
  const [known, unknown] = [hashKey(await addKey(house.database)), hashKey(await addKey(house.database))];
  const guardrail = await addGuardrail(house.database);
  await assign(house.client, guardrail, [known], bearer(house.managementKey));
  const proxy = await startRpcProxy(house.port);
  const client = dial(`127.0.0.1:${proxy.port}`);
  const access = new Access({ client, token: serviceToken, process: "cut", log: house.log, registry: new Registry() });
  await access.watch();
  await access.resolve(known);
  await proxy.stop();
  const ask = async (keyHash: string) => access.resolve(keyHash);
  for (const seconds of [0, 10, 100, 290]) {
    later(seconds);
    expect((await ask(known)).caller?.guardrail?.id).toBe(guardrail);
    await expect(ask(unknown)).rejects.toMatchObject(unavailable);
  }
  later(301);
  await expect(ask(known)).rejects.toMatchObject(unavailable);
  access.stop();
});

test("who is not heard for ten seconds is told once, with why, and when that is over", async () => {
  const lines: { level: number; msg: string; err?: { message: string } }[] = [];
  const log = openLog("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const file = join(mkdtempSync(join(tmpdir(), "sluice-test-token-")), "token");
  writeFileSync(file, "t".repeat(64));
  const client = dial(`127.0.0.1:${house.port}`);
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
    { level: 40, msg: "admin-svc is not heard", err: { message: expect.stringContaining("UNAUTHENTICATED") } },
    { level: 30, msg: expect.stringContaining("token") },
    { level: 30, msg: "admin-svc is heard" },
  ]);
  access.stop();
  client.close();
  rmSync(dirname(file), { recursive: true });
});
