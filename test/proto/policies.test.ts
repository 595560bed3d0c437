/** When a cached policy is read again. */
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { Policies } from "@sluice/proto/lib/policy/policies.js";

/** Milliseconds of the clock, which only a test moves. */
let now: number;
let readings: number;
/** Time since the last heartbeat. */
let silentMs: number;
/** Current generation of admin-svc. */
let generation: bigint;
let policies: Policies<string>;

beforeEach(async () => {
  now = 1_000_000;
  readings = 0;
  silentMs = 0;
  generation = 1n;
  jest.spyOn(performance, "now").mockImplementation(() => now);
  const ask = () => Promise.resolve({ value: `reading ${++readings}`, generation });
  const state = {
    applied: 1n,
    get silentMs() {
      return silentMs;
    },
  };
  policies = new Policies(ask, state);
  await policies.resolve("key", 1n);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const minuteMs = 60_000;

test("a cached policy confirmed by heartbeats every second is not read again within five minutes", () => {
  for (let minute = 1; minute < 5; minute++) {
    now += minuteMs;
    expect(policies.resolve("key", 1n)).toMatchObject({ value: "reading 1" });
  }
  expect(readings).toBe(1);
});

test("a cached policy is read again after five minutes, in case a change was missed", async () => {
  now += 5 * minuteMs;
  expect(await policies.resolve("key", 1n)).toMatchObject({ value: "reading 2" });
});

test("a cached policy without heartbeats is read again after two seconds", async () => {
  silentMs = 10_000;
  now += 2_000;
  expect(await policies.resolve("key", 1n)).toMatchObject({ value: "reading 2" });
});

test("a cached policy is read again at once after a change", async () => {
  generation = 2n;
  policies.invalidate(["key"], generation);
  expect(await policies.resolve("key", 1n)).toMatchObject({ value: "reading 2" });
});
