/** Limits counted by several processes together: exact while Redis answers, approximate while it does not, and correct again afterwards. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { type Admission, Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Redis } from "ioredis";
import { leaveAfter } from "../../support/admissions.ts";
import { DatabaseLink } from "../../support/database-link.ts";
import { eventually } from "../../support/processes.ts";
import { describeWithRedis, redisUrl } from "../../support/redis.ts";

interface Process {
  readonly limiter: Limiter;
  readonly logged: string[];
  figure(name: string): Promise<number>;
}

describeWithRedis("limits with Redis", () => {
  const processes: Process[] = [];
  let redis: Redis;
  let link: DatabaseLink;
  let linked: string;
  let isCut = false;

  beforeAll(async () => {
    redis = new Redis(redisUrl);
    link = new DatabaseLink(redisUrl);
    linked = await link.open(redisUrl);
  });
  afterEach(async () => {
    for (const { limiter } of processes.splice(0)) await limiter.stop();
    await restore();
  });
  afterAll(async () => {
    await link?.cut();
    redis?.disconnect();
  });

  /** Cuts the processes off from Redis until the end of the test. */
  async function without(...those: readonly Process[]): Promise<void> {
    await link.cut();
    isCut = true;
    for (const process of those) await eventually(async () => (await process.figure("sluice_limits_shared")) === 0);
  }

  async function restore(): Promise<void> {
    if (isCut) await link.restore();
    isCut = false;
  }

  async function start(url = redisUrl, config: object = {}): Promise<Process> {
    const registry = new Registry();
    const logged: string[] = [];
    const log = {
      info: (_: unknown, text?: string) => logged.push(text ?? String(_)),
      warn: (_: unknown, text: string) => logged.push(text),
    };
    const limiter = new Limiter({
      config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null, ...config }),
      origin: FaultOrigin.GATEWAY,
      registry,
      shared: { url, process: randomUUID(), kind: "gateway", log: log as never, registry },
    });
    const figure = async (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, "m").exec(await registry.metrics())?.[1] ?? Number.NaN);
    const process = { limiter, logged, figure };
    processes.push(process);
    await eventually(async () => (await figure("sluice_limits_shared")) === 1);
    return process;
  }

  const keyOf = (caller: never) => `sluice:limits:key:${(caller as { keyHash: string }).keyHash}`;
  const callerOf = (rateLimits: object) => ({ keyHash: randomUUID(), rateLimits }) as never;
  const enter = async ({ limiter }: Process, caller: never): Promise<Admission> => limiter.enter(caller);
  const isIn = async (process: Process, caller: never) => (await enter(process, caller)).refusal === undefined;

  /** Expects the remaining requests of a minute, plus those returned since this call. */
  function remainsOf(perMinute: number) {
    const startedAt = performance.now();
    return ({ headers }: Admission, count: number): void => {
      const givenBack = Math.floor(((performance.now() - startedAt) * perMinute) / 60_000);
      const remaining = Number(headers?.["x-ratelimit-remaining-requests"]);
      expect(remaining).toBeGreaterThanOrEqual(count);
      expect(remaining).toBeLessThanOrEqual(count + givenBack);
    };
  }

  test("let two processes admit n requests together, and no more", async () => {
    const both = [await start(), await start()];
    // Another request is admitted after 15 seconds, more than this test takes on any machine.
    const caller = callerOf({ requestsPerMinute: 4, concurrentRequests: 1_000 });
    const asked = Array.from({ length: 200 }, (_, n) => isIn(both[n % 2] as Process, caller));
    expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(4);
    const { refusal, headers } = await enter(both[0] as Process, caller);
    expect(refusal?.retryAfterMs).toBeGreaterThan(0);
    expect(refusal?.retryAfterMs).toBeLessThanOrEqual(15_000);
    expect(headers).toMatchObject({ "x-ratelimit-limit-requests": "4", "x-ratelimit-remaining-requests": "0" });
  });

  test("share a call for turns of a key that arrive together, after the first, and decide them in order", async () => {
    const process = await start();
    const caller = callerOf({ requestsPerMinute: 30, concurrentRequests: 20 });
    const key = keyOf(caller);
    const calls: string[][] = [];
    const monitor = await redis.monitor();
    monitor.on("monitor", (_: unknown, args: string[]) => args[3] === key && calls.push(args));
    const answers = await Promise.all(Array.from({ length: 64 }, () => enter(process, caller)));
    const admitted = answers.map(({ refusal }) => refusal === undefined);
    expect(admitted).toEqual(answers.map((_, n) => n < 20));
    const remaining = answers.slice(0, 20).map(({ headers }) => Number(headers?.["x-ratelimit-remaining-requests"]));
    expect(remaining).toEqual(remaining.toSorted((one, other) => other - one));
    expect(new Set(remaining).size).toBeGreaterThan(15);
    await eventually(() => calls.length >= 2);
    // A server that lacks the script is called once more with its text.
    expect(calls.filter(([name]) => /evalsha/i.test(name ?? "")).map((args) => args.at(-1))).toEqual(["1", "63"]);
    for (const admission of answers) admission.leave(false);
    await eventually(async () => (await redis.hget(`{${key}}:turns`, "all")) === "0");
    const again = await Promise.all(Array.from({ length: 64 }, () => isIn(process, caller)));
    // The limit is thirty a minute, and one request is given back in two seconds.
    expect(again.filter(Boolean).length).toBeGreaterThanOrEqual(10);
    expect(again.filter(Boolean).length).toBeLessThan(20);
    monitor.disconnect();
  });

  test("do not share a call for turns under different limits of a key, and count them together", async () => {
    const process = await start();
    const keyHash = randomUUID();
    const turns = Array.from({ length: 60 }, (_, n) => ({
      limits: { concurrentRequests: 4 + (n % 3) * 4 },
      entered: isIn(process, { keyHash, rateLimits: { concurrentRequests: 4 + (n % 3) * 4 } } as never),
    }));
    const admitted = await Promise.all(turns.map(async ({ entered }) => entered));
    expect(admitted.filter(Boolean)).toHaveLength(12);
  });

  test("keep turns beyond the longest call, or under other limits, behind those that wait", async () => {
    const process = await start();
    const caller = callerOf({ concurrentRequests: 200 });
    const many = await Promise.all(Array.from({ length: 500 }, () => isIn(process, caller)));
    expect(many).toEqual(many.map((_, n) => n < 200));
    const keyHash = randomUUID();
    const limits = [4, 4, 4, 4, 3, 5, 5];
    const mixed = limits.map((concurrentRequests) =>
      isIn(process, { keyHash, rateLimits: { concurrentRequests } } as never),
    );
    expect(await Promise.all(mixed)).toEqual([true, true, true, true, false, true, false]);
  });

  test("of tokens hold at one process for tokens counted by the other", async () => {
    const [one, other] = [await start(), await start()];
    const caller = callerOf({ tokensPerMinute: 1_000 });
    // The limit regains 1,000 tokens a minute.
    leaveAfter(3_000, await enter(one, caller));
    await eventually(async () => (await enter(other, caller)).headers?.["x-ratelimit-remaining-tokens"] === "0");
    const { refusal } = await enter(other, caller);
    expect(refusal?.message).toBe("Rate limit exceeded: 1000 tokens a minute");
  });

  test("of open turns are shared by processes, and a dead process holds none", async () => {
    const [one, other] = [await start(), await start()];
    const caller = callerOf({ concurrentRequests: 3 });
    const open = await Promise.all([enter(one, caller), enter(one, caller), enter(other, caller)]);
    expect([await isIn(one, caller), await isIn(other, caller)]).toEqual([false, false]);
    open[0]?.leave(false);
    await eventually(() => isIn(other, caller));
    expect(await isIn(one, caller)).toBe(false);
    const gone = callerOf({ concurrentRequests: 1 });
    const key = `sluice:limits:key:${(gone as { keyHash: string }).keyHash}`;
    await redis.hset(key, "p:gone", `1 ${Date.now() + 60_000}`);
    expect(await isIn(one, gone)).toBe(false);
    await redis.hset(key, "p:gone", `1 ${Date.now() - 1}`);
    expect(await isIn(one, gone)).toBe(true);
  });

  test("count a turn again that is still open after its first count has expired", async () => {
    const process = await start();
    const caller = callerOf({ concurrentRequests: 1 });
    const key = keyOf(caller);
    const turn = await enter(process, caller);
    const first = await redis.hgetall(key);
    await eventually(async () => JSON.stringify(await redis.hgetall(key)) !== JSON.stringify(first));
    expect(await isIn(process, caller)).toBe(false);
    turn.leave(false);
    await eventually(async () => (await redis.exists(key)) === 0 || Object.keys(await redis.hgetall(key)).length === 0);
  });

  test("are kept by each process when Redis dies, and count these requests after its return", async () => {
    const process = await start(linked);
    const caller = callerOf({ requestsPerMinute: 10, concurrentRequests: 5 });
    const remains = remainsOf(10);
    for (let n = 0; n < 4; n++) expect(await isIn(process, caller)).toBe(true);
    await without(process);
    expect(process.logged).toContain("Redis does not answer: this process counts limits alone");
    expect(await process.figure("sluice_limits_redis_losses_total")).toBe(1);
    const fifth = await enter(process, caller);
    expect(fifth.refusal).toBeUndefined();
    remains(fifth, 5);
    // Five turns are open, including those from before the outage.
    expect((await enter(process, caller)).refusal?.message).toContain("5 requests of this key are running");
    fifth.leave(false);
    await restore();
    await eventually(async () => (await process.figure("sluice_limits_shared")) === 1);
    expect(process.logged.filter((line) => line === "limits are counted in Redis")).toHaveLength(2);
    const sixth = await enter(process, caller);
    expect(sixth.refusal).toBeUndefined();
    remains(sixth, 4);
    expect(await isIn(process, caller)).toBe(false);
  });

  test("keep earlier use when Redis returns without its memory", async () => {
    const process = await start(linked);
    const caller = callerOf({ requestsPerMinute: 10 });
    const remains = remainsOf(10);
    for (let n = 0; n < 6; n++) await enter(process, caller);
    await without(process);
    await enter(process, caller);
    await redis.del(`sluice:limits:key:${(caller as { keyHash: string }).keyHash}`);
    await restore();
    await eventually(async () => (await process.figure("sluice_limits_shared")) === 1);
    remains(await enter(process, caller), 2);
  });

  test("make only the first callers wait a moment while Redis is silent", async () => {
    const process = await start(linked);
    const caller = callerOf({ requestsPerMinute: 60 });
    const startedAt = performance.now();
    await enter(process, caller);
    link.freeze();
    try {
      const waited = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const at = performance.now();
          expect(await isIn(process, caller)).toBe(true);
          return performance.now() - at;
        }),
      );
      expect(Math.min(...waited)).toBeGreaterThanOrEqual(95);
      expect(process.limiter.enter(caller)).not.toBeInstanceOf(Promise);
    } finally {
      link.thaw();
    }
    await eventually(async () => (await process.figure("sluice_limits_shared")) === 1);
    // Used requests: one before the outage, twenty in the silence, one that did not wait, and this one. Each second gives back one, in Redis and of
    // the unreported ones.
    const remaining = Number((await enter(process, caller)).headers?.["x-ratelimit-remaining-requests"]);
    expect(remaining).toBeGreaterThanOrEqual(60 - 23);
    expect(remaining).toBeLessThanOrEqual(60 - 23 + Math.floor((2 * (performance.now() - startedAt)) / 1_000));
  });

  test("refuse turns in the process when a shared call gets no answer and its connection closes", async () => {
    const process = await start(linked);
    const caller = callerOf({ concurrentRequests: 1 });
    const first = enter(process, caller);
    const sharing = Array.from({ length: 3 }, () => enter(process, caller));
    expect((await first).refusal).toBeUndefined();
    link.freeze();
    try {
      const refused = (await Promise.all(sharing)).map(({ refusal }) => refusal?.message);
      expect(refused).toEqual(sharing.map(() => "Rate limit exceeded: 1 requests of this key are running"));
      expect(await process.figure("sluice_limits_redis_losses_total")).toBe(1);
      link.reset();
    } finally {
      link.thaw();
    }
    await eventually(async () => (await process.figure("sluice_limits_shared")) === 1);
    expect(await isIn(process, caller)).toBe(false);
  });

  test("admit at most a fifth too much at two processes while Redis is unreachable", async () => {
    const both = [await start(linked), await start(linked)];
    for (const process of both) await eventually(async () => (await process.figure("sluice_limits_processes")) === 2);
    await without(...both);
    const caller = callerOf({ requestsPerMinute: 100, concurrentRequests: 1_000 });
    let given = 0;
    const startedAt = performance.now();
    for (let n = 0; n < 400; n++) if (await isIn(both[n % 2] as Process, caller)) given++;
    // Every second, each process regains one request.
    expect(given).toBeLessThanOrEqual(121 + (2 * (performance.now() - startedAt)) / 1_000);
  });
});
