/** Limits of keys as one process counts them: exact at n and n + 1, by the minute and at a time. */
import { describe, expect, test } from "@jest/globals";
import { FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Bucket, periodMs, remainingUnits, waitForUnitMs } from "@sluice/proto/lib/limits/bucket.js";
import { rateLimitHeaders, sharedTurnUse } from "@sluice/proto/lib/limits/decision.js";
import { type Admission, Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { leaveAfter } from "../../support/admissions.ts";

const unlimited = { requests_per_minute: null, tokens_per_minute: null };

const limiterOf = (config: object = {}, registry = new Registry()) =>
  new Limiter({
    config: () => ({ streams_per_key: 64, ...unlimited, ...config }),
    origin: FaultOrigin.GATEWAY,
    registry,
  });

/** The decision comes at once, because there is no Redis to wait for. */
const enter = (limiter: Limiter, caller: { keyHash: string; rateLimits?: object }, ask?: object): Admission =>
  limiter.enter(caller as never, ask as never) as Admission;

describe("a token bucket of a limit", () => {
  test.each([1, 2, 3, 7, 60, 100, 997, 3_000, 1_000_000])(
    "of %i is full at once, and one step later has one more",
    (limit) => {
      const bucket = new Bucket();
      const start = 1_000_000;
      let wrong = 0;
      for (let n = 0; n < limit; n++) {
        if (remainingUnits(limit, bucket.aheadMs(start)) !== limit - n) wrong++;
        bucket.take(1, limit, start);
      }
      expect(wrong).toBe(0);
      expect(remainingUnits(limit, bucket.aheadMs(start))).toBe(0);
      const wait = waitForUnitMs(limit, bucket.aheadMs(start));
      expect(wait).toBe(Math.ceil(periodMs / limit));
      expect(remainingUnits(limit, bucket.aheadMs(start + wait))).toBeGreaterThanOrEqual(1);
      expect(remainingUnits(limit, bucket.aheadMs(start + (periodMs / limit) * 0.98))).toBe(0);
      expect(remainingUnits(limit, bucket.aheadMs(start + periodMs))).toBe(limit);
    },
  );

  test("that is overdrawn fills up from below zero, for an hour at most", () => {
    const bucket = new Bucket();
    bucket.take(250, 100, 0);
    expect(waitForUnitMs(100, bucket.aheadMs(0))).toBe(1.5 * periodMs + periodMs / 100);
    bucket.take(1_000_000_000, 1, 0);
    expect(bucket.aheadMs(0)).toBe(3_600_000);
  });
});

describe("requests a minute of a key", () => {
  test("pass up to the limit, the next is 429 with a Retry-After, and refused requests do not count", () => {
    const limiter = limiterOf();
    const caller = { keyHash: "a", rateLimits: { requestsPerMinute: 3 } };
    const admissions = [1, 2, 3].map(() => enter(limiter, caller));
    expect(admissions.map(({ refusal }) => refusal)).toEqual([undefined, undefined, undefined]);
    expect(admissions.map(({ headers }) => headers?.["x-ratelimit-remaining-requests"])).toEqual(["2", "1", "0"]);
    for (const admission of admissions) admission.leave(false);
    for (let tries = 0; tries < 10; tries++) {
      const { refusal, headers } = enter(limiter, caller);
      expect(refusal).toMatchObject({
        reason: FaultReason.RATE_LIMITED,
        status: 429,
        message: "Rate limit exceeded: 3 requests a minute",
        shouldRetry: true,
      });
      expect(refusal?.retryAfterMs).toBeGreaterThan(19_000);
      expect(refusal?.retryAfterMs).toBeLessThanOrEqual(20_000);
      expect(headers).toMatchObject({ "x-ratelimit-limit-requests": "3", "x-ratelimit-remaining-requests": "0" });
    }
  });

  test("have the configured default for a key without a limit, each key for itself", () => {
    const limiter = limiterOf({ requests_per_minute: 1 });
    expect(enter(limiter, { keyHash: "a" }).refusal).toBeUndefined();
    expect(enter(limiter, { keyHash: "a" }).refusal).toBeDefined();
    expect(enter(limiter, { keyHash: "b" }).refusal).toBeUndefined();
    const own = { keyHash: "c", rateLimits: { requestsPerMinute: 2 } };
    expect([1, 2, 3].map(() => enter(limiter, own).refusal === undefined)).toEqual([true, true, false]);
  });

  test("are not counted without a limit, and no header shows them", () => {
    const limiter = limiterOf();
    const admission = enter(limiter, { keyHash: "a" });
    expect([admission.headers, admission.countsTokens]).toEqual([undefined, false]);
    leaveAfter(1_000_000, admission);
    expect(enter(limiter, { keyHash: "a" }).refusal).toBeUndefined();
  });

  test("raised by a change pass at once, and keep their previous use", () => {
    const limiter = limiterOf();
    const key = (requestsPerMinute: number) => ({ keyHash: "a", rateLimits: { requestsPerMinute } });
    enter(limiter, key(2));
    expect(enter(limiter, key(4)).headers?.["x-ratelimit-remaining-requests"]).toBe("1");
  });
});

describe("tokens a minute of a key", () => {
  const caller = { keyHash: "a", rateLimits: { tokensPerMinute: 100 } };

  test("are taken when a turn ends; while one is left the next turn may begin, and debts are paid first", () => {
    const limiter = limiterOf();
    const first = enter(limiter, caller);
    expect([first.countsTokens, first.headers?.["x-ratelimit-remaining-tokens"]]).toEqual([true, "100"]);
    leaveAfter(99, first);
    const second = enter(limiter, caller);
    expect(second.refusal).toBeUndefined();
    leaveAfter(51, second);
    const { refusal, headers } = enter(limiter, caller);
    expect(refusal).toMatchObject({ status: 429, message: "Rate limit exceeded: 100 tokens a minute" });
    expect(refusal?.retryAfterMs).toBeGreaterThan(30_000);
    expect(refusal?.retryAfterMs).toBeLessThanOrEqual(30_600);
    expect(headers?.["x-ratelimit-remaining-tokens"]).toBe("0");
    expect(headers?.["x-ratelimit-reset-tokens"]).toMatch(/^1m(29(\.\d+)?|30)s$/);
  });

  test("are taken once, however often a turn ends", () => {
    const limiter = limiterOf();
    const admission = enter(limiter, caller);
    for (let n = 0; n < 3; n++) leaveAfter(40, admission);
    expect(enter(limiter, caller).headers?.["x-ratelimit-remaining-tokens"]).toBe("60");
  });
});

describe("concurrent turns of a key", () => {
  test("are open up to the limit, the next is 429, and a finished turn makes room", () => {
    const limiter = limiterOf({ streams_per_key: 2 });
    const [first] = [enter(limiter, { keyHash: "a" }), enter(limiter, { keyHash: "a" })];
    const { refusal, headers } = enter(limiter, { keyHash: "a" });
    expect(refusal).toMatchObject({
      message: "Rate limit exceeded: 2 requests of this key are running",
      retryAfterMs: 1_000,
    });
    expect(headers).toBeUndefined();
    expect(enter(limiter, { keyHash: "b" }).refusal).toBeUndefined();
    first?.leave(false);
    first?.leave(false);
    expect(enter(limiter, { keyHash: "a" }).refusal).toBeUndefined();
    expect(enter(limiter, { keyHash: "a" }).refusal).toBeDefined();
    expect(limiter.open).toBe(3);
  });

  test("are limited by the key's own limit or the default, which requests without a turn do not use", () => {
    const limiter = limiterOf();
    const caller = { keyHash: "a", rateLimits: { concurrentRequests: 1 } };
    enter(limiter, caller);
    expect(enter(limiter, caller).refusal).toBeDefined();
    expect(enter(limiter, caller, sharedTurnUse).refusal).toBeUndefined();
  });
});

test("a refusal by a limit is counted under the name of the limit", async () => {
  const registry = new Registry();
  const limiter = limiterOf({ streams_per_key: 1, requests_per_minute: 1 }, registry);
  for (let n = 0; n < 3; n++) enter(limiter, { keyHash: "a" });
  expect(await registry.metrics()).toContain('sluice_rate_limited_total{limit="requests"} 2');
});

test.each([
  [0, "0ms"],
  [119.2, "120ms"],
  [999.5, "1s"],
  [1_250, "1.25s"],
  [60_000, "1m0s"],
  [3_599_001, "59m59.001s"],
])("a wait of %d ms until a bucket is full is written as %s", (requestsMs, text) => {
  const headers = rateLimitHeaders(
    { requestsPerMinute: 60, tokensPerMinute: undefined, concurrentRequests: 1 },
    { requestsMs, tokensMs: 0, requestsDayMs: 0, tokensDayMs: 0 },
  );
  expect(headers?.["x-ratelimit-reset-requests"]).toBe(text);
});
