/** Rate limits, refused keys, missing money, and outages: what is retried, when, and how often at most. */
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { RetryBudget } from "@sluice/inference-svc/models/routing/attempt/retry-budget.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, chatStream, startUpstream } from "../../../support/providers/upstream.js";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";

let one: Upstream;
let two: Upstream;
let engine: Engine;
/** Milliseconds of the clock by which keys are paused and attempts are counted; only pauses take real time. */
let clock: { now: number };

beforeEach(async () => {
  [one, two] = await Promise.all([startUpstream([chatStream("one")]), startUpstream([chatStream("two")])]);
  clock = { now: 1_000_000 };
  const provider = (id: string, upstream: Upstream, more: object = {}) => ({
    id,
    dialect: "chat",
    base_url: `${upstream.url}/v1`,
    ...more,
  });
  engine = openEngine(
    testConfig({
      providers: [
        provider("keyed", one, { api_keys: ["a", "b"] }),
        provider("single", one, { api_keys: ["a"] }),
        provider("plain", one),
        provider("other", two),
        provider("third", two),
      ],
      models: [
        { id: "keyed", endpoints: [{ provider: "keyed" }] },
        { id: "keyed-too", endpoints: [{ provider: "keyed" }] },
        { id: "single", endpoints: [{ provider: "single" }] },
        { id: "plain", endpoints: [{ provider: "plain" }] },
        { id: "both", endpoints: [{ provider: "single" }, { provider: "other" }] },
        { id: "three", endpoints: [{ provider: "plain" }, { provider: "other" }, { provider: "third" }] },
      ],
    }),
    new EndpointRecords(() => clock.now),
  );
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([one.stop(), two.stop()]);
});

const error = (status: number, headers: Record<string, string> = {}, body: object = { error: {} }): Reply => ({
  status,
  headers,
  chunks: [{ json: body }],
});
const limited = (seconds?: number) => error(429, seconds === undefined ? {} : { "retry-after": String(seconds) });
const runRequest = (model: string, testScope = newScope()) =>
  runTestTurn(engine.turn, testRequest({ models: [model] }), testScope);
const keysAt = (upstream: Upstream) => upstream.requests.map(({ headers }) => headers.authorization?.at(-1));

describe("a 429 of a provider", () => {
  test("moves the request to another key at once, and pauses the limited key for the given time", async () => {
    one.script([limited(30), chatStream("one")]);
    expect((await runRequest("keyed")).fault).toBeUndefined();
    for (let index = 0; index < 3; index++) await runRequest("keyed");
    expect(keysAt(one)).toEqual(["a", "b", "b", "b", "b"]);
    clock.now += 30_000;
    await runRequest("keyed");
    await runRequest("keyed");
    expect(keysAt(one).slice(-2)).toEqual(expect.arrayContaining(["a", "b"]));
  });

  test("pauses the key for one model only", async () => {
    one.script([limited(30), chatStream("one")]);
    await runRequest("keyed");
    one.script([chatStream("one")]);
    await runRequest("keyed-too");
    await runRequest("keyed-too");
    expect(keysAt(one).slice(-2)).toEqual(expect.arrayContaining(["a", "b"]));
  });

  test("moves the request to another endpoint, and pauses the limited one for its time", async () => {
    one.script([limited(30), chatStream("one")]);
    const testScope = newScope();
    await runRequest("both", testScope);
    expect(testScope.scope.trace.attempts.map(({ provider, status }) => [provider, status])).toEqual([
      ["single", 429],
      ["other", 200],
    ]);
    await runRequest("both");
    expect([one.requests.length, two.requests.length]).toEqual([1, 2]);
    clock.now += 30_000;
    await runRequest("both");
    expect([one.requests.length, two.requests.length]).toEqual([2, 2]);
  });

  test("is waited out once if the time is short and there is no alternative", async () => {
    one.script([limited(), chatStream("one")]);
    const at = performance.now();
    const ending = runRequest("plain");
    expect((await ending).fault).toBeUndefined();
    expect(performance.now() - at).toBeGreaterThan(990);
    clock.now += 1_000;
    one.script([limited()]);
    const { fault } = await runRequest("plain");
    expect([fault?.status, fault?.retryAfterMs, one.requests.length]).toEqual([429, 1_000, 4]);
  });

  test.each<[string, Reply, number]>([
    ["passed on when it is long", limited(11), 11_000],
    ["at most five minutes", limited(3_600), 300_000],
    ["in milliseconds", error(429, { "retry-after-ms": "20500.5" }), 20_501],
  ])("has its retry time respected: %s", async (_, reply, retryAfterMs) => {
    one.script([reply]);
    const { fault } = await runRequest("single");
    expect([fault?.reason, fault?.retryAfterMs, one.requests.length]).toEqual([
      FaultReason.RATE_LIMITED,
      retryAfterMs,
      1,
    ]);
    clock.now += 500;
    const again = await runRequest("single");
    // The second request made no call, so the key's remaining time is the same.
    expect([again.fault?.status, again.fault?.retryAfterMs, one.requests.length]).toEqual([429, retryAfterMs - 500, 1]);
  });

  test("by several limits has the shortest remaining time", async () => {
    one.script([limited(90)]);
    two.script([limited(30)]);
    expect((await runRequest("both")).fault?.retryAfterMs).toBe(30_000);
  });

  test("is not waited out when the deadline is earlier", async () => {
    one.script([limited(9)]);
    const { scope, abort } = newScope();
    const at = performance.now();
    const { fault } = await runTestTurn(engine.turn, testRequest({ models: ["plain"] }), {
      scope: scope.with({ deadline: clock.now + 8_000 }),
      abort,
    });
    expect([fault?.status, one.requests.length]).toEqual([429, 1]);
    expect(performance.now() - at).toBeLessThan(6_000);
  });

  test("stops waiting at once when the client leaves", async () => {
    one.script([limited(10)]);
    const testScope = newScope();
    const ending = runRequest("plain", testScope);
    await one.nextRequest();
    setTimeout(() => testScope.abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED)), 50);
    expect((await ending).fault?.reason).toBe(FaultReason.DEADLINE_EXCEEDED);
    expect(one.requests).toHaveLength(1);
  });
});

describe("keys of a provider", () => {
  const spent = { error: { code: "insufficient_quota", message: "You exceeded your current quota" } };

  test.each<[string, Reply, number]>([
    ["401", error(401), 60_000],
    ["403", error(403), 60_000],
    ["402", error(402), 300_000],
    ["402 that says when", error(402, { "retry-after": "120" }), 120_000],
    ["nothing left to spend", error(429, {}, spent), 300_000],
  ])("are paused after %s, with a line in the log, and the next key is used", async (_, reply, restMs) => {
    one.script([reply, chatStream("one")]);
    expect((await runRequest("keyed")).fault).toBeUndefined();
    expect(engine.errors).toEqual([expect.objectContaining({ provider: "keyed", key: 0, rests_ms: restMs })]);
    clock.now += restMs - 1;
    await runRequest("keyed");
    await runRequest("keyed");
    expect(keysAt(one)).toEqual(["a", "b", "b", "b"]);
    clock.now += 1;
    await runRequest("keyed");
    await runRequest("keyed");
    expect(keysAt(one).slice(-2)).toContain("a");
  });

  test("with a spent account are not waited for, and have no retry hint", async () => {
    one.script([error(429, {}, spent)]);
    const { fault } = await runRequest("single");
    expect([fault?.status, fault?.shouldRetry, fault?.retryAfterMs, one.requests.length]).toEqual([502, false, 0, 1]);
  });

  test("at a spending limit with an end time are limited like by a rate limit", async () => {
    one.script([error(429, { "retry-after": "60" }, spent)]);
    const { fault } = await runRequest("single");
    expect([fault?.status, fault?.retryAfterMs]).toEqual([429, 60_000]);
  });

  test("that were refused are used again if no other is left", async () => {
    one.script([error(401), chatStream("one")]);
    expect((await runRequest("single")).fault?.status).toBe(502);
    expect((await runRequest("single")).fault).toBeUndefined();
  });

  test("that were refused put their endpoint behind others", async () => {
    one.script([error(401), chatStream("one")]);
    await runRequest("both");
    await runRequest("both");
    expect([one.requests.length, two.requests.length]).toEqual([1, 2]);
  });

  test("are not paused for a 403 of the content policy", async () => {
    one.script([error(403, {}, { error: { code: "content_policy_violation" } })]);
    expect((await runRequest("single")).fault?.reason).toBe(FaultReason.CONTENT_POLICY);
    expect(engine.errors).toEqual([]);
  });
});

describe("the retry budget", () => {
  const failures = (budget: RetryBudget, count: number) => {
    for (let index = 0; index < count; index++) budget.beginRetry(false)(true, clock.now);
  };

  test.each([
    [true, 10],
    [false, 3],
  ])("with the setting %s permits %i failed retries in ten seconds, or a fifth of the requests", (inUse, few) => {
    const budget = new RetryBudget();
    failures(budget, few - 1);
    expect(budget.allows(inUse, clock.now)).toBe(true);
    failures(budget, 1);
    expect(budget.allows(inUse, clock.now)).toBe(false);
    for (let index = 0; index < 100; index++) budget.countRequest(clock.now);
    expect(budget.allows(inUse, clock.now)).toBe(true);
    failures(budget, 20 - few);
    expect(budget.allows(inUse, clock.now)).toBe(false);
    clock.now += 10_000;
    expect(budget.allows(inUse, clock.now)).toBe(true);
  });

  test("does not count successful retries, and counts probably failing ones in advance", () => {
    const budget = new RetryBudget();
    for (let index = 0; index < 100; index++) budget.beginRetry(false)(false, clock.now);
    expect(budget.allows(false, clock.now)).toBe(true);
    const ends = Array.from({ length: 3 }, () => budget.beginRetry(true));
    expect(budget.allows(false, clock.now)).toBe(false);
    ends[0]!(false, clock.now);
    expect(budget.allows(false, clock.now)).toBe(true);
  });

  test("keeps calls hardly above requests while all providers fail", async () => {
    for (const upstream of [one, two]) upstream.script([error(500)]);
    const attempts = () => one.requests.length + two.requests.length;
    let early = 0;
    for (let second = 0; second < 60; second++) {
      for (let index = 0; index < 10; index++) {
        expect((await runRequest("three")).fault?.status).toBeGreaterThanOrEqual(500);
        clock.now += 100;
      }
      if (second === 9) early = attempts();
    }
    expect(attempts() - early).toBeLessThanOrEqual(1.2 * 500);
    // Once a provider serves again, the next requests reach it.
    two.script([chatStream("two")]);
    const back = [];
    for (let index = 0; index < 10; index++) back.push((await runRequest("three")).fault);
    expect(back).toContain(undefined);
    expect(back.at(-1)).toBeUndefined();
  });
});
