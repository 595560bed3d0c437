/** What a process knows while it cannot ask: for 300 s of its own clock, and not a second longer. */
import { afterAll, afterEach, beforeAll, expect, jest, test } from "@jest/globals";
import { Access } from "@sluice/proto/runtime/access.js";
import { hashKey } from "@sluice/proto/runtime/key.js";
import { Registry } from "@sluice/proto/runtime/metrics.js";
import { dial } from "@sluice/proto/runtime/rpc/dial.js";
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
