/** Several limits of one turn: all of them count it or none, a changed limit of the day keeps the use, and Redis counts like the process. */
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { JointAdmission, ModelLimitRow } from "@sluice/proto/lib/limits/joint-admission.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type { KeyLimits } from "@sluice/proto/lib/limits/settings.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { DatabaseLink } from "../../support/database-link.ts";
import { eventually } from "../../support/processes.ts";
import { describeWithRedis, redisUrl } from "../../support/redis.ts";

const log = { info: () => {}, warn: () => {} } as never;
const limiters: Limiter[] = [];

async function stopAll(): Promise<void> {
  for (const limiter of limiters.splice(0)) await limiter.stop();
}

afterEach(stopAll);

interface Counting {
  readonly limiter: Limiter;
  readonly isShared: () => Promise<boolean>;
}

function counting(url?: string): Counting {
  const registry = new Registry();
  const limiter = new Limiter({
    config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null }),
    origin: FaultOrigin.INFERENCE,
    registry,
    shared: url === undefined ? undefined : { url, process: randomUUID(), kind: "inference-svc", log, registry },
  });
  limiters.push(limiter);
  return { limiter, isShared: async () => /^sluice_limits_shared 1$/m.test(await registry.metrics()) };
}

async function sharing(url = redisUrl): Promise<Counting> {
  const made = counting(url);
  await eventually(made.isShared);
  return made;
}

const row = (limits: Partial<KeyLimits>, id = `{test}:${randomUUID()}`): ModelLimitRow => ({
  id,
  limits: { requestsPerMinute: undefined, tokensPerMinute: undefined, concurrentRequests: undefined, ...limits },
});

const enter = async ({ limiter }: Counting, ...rows: readonly ModelLimitRow[]): Promise<JointAdmission> =>
  limiter.enterModels(rows);

const admits = async (process: Counting, ...rows: readonly ModelLimitRow[]): Promise<boolean> => {
  const admission = await enter(process, ...rows);
  admission.leave([]);
  return admission.reached === undefined;
};

/** Number of requests that are admitted until one is refused. */
async function countAdmitted(process: Counting, ...rows: readonly ModelLimitRow[]): Promise<number> {
  for (let count = 0; ; count++) if (!(await admits(process, ...rows))) return count;
}

function describeCounts(start: () => Promise<Counting>): void {
  test("a turn refused by one limit counts at no other", async () => {
    const process = await start();
    const [wide, narrow] = [row({ requestsPerDay: 5 }), row({ requestsPerDay: 2 })];
    expect(await countAdmitted(process, wide, narrow)).toBe(2);
    for (let n = 0; n < 4; n++) expect(await admits(process, wide, narrow)).toBe(false);
    expect(await countAdmitted(process, wide)).toBe(3);
  });

  test("the refusal names the limit with the longest wait", async () => {
    const process = await start();
    const rows = [row({ requestsPerMinute: 1 }), row({ requestsPerDay: 1, concurrentRequests: 9 })];
    expect(await countAdmitted(process, ...rows)).toBe(1);
    const { reached } = await enter(process, ...rows);
    expect(reached).toMatchObject({ index: 1, limit: "requests_per_day", maximum: 1 });
    expect(reached?.retryAfterMs).toBeGreaterThan(86_000_000);
    expect(reached?.retryAfterMs).toBeLessThanOrEqual(86_400_000);
  });

  test("a changed limit of a day keeps the used requests and tokens", async () => {
    const process = await start();
    const { id } = row({});
    const limited = (requestsPerDay: number) => row({ requestsPerDay }, id);
    expect(await countAdmitted(process, limited(4))).toBe(4);
    expect(await countAdmitted(process, limited(6))).toBe(2);
    expect(await admits(process, limited(3))).toBe(false);
    expect(await countAdmitted(process, limited(10))).toBe(4);
    const tokens = row({ tokensPerDay: 100 });
    (await enter(process, tokens)).leave([100]);
    expect(await admits(process, tokens)).toBe(false);
    expect(await admits(process, row({ tokensPerDay: 101 }, tokens.id))).toBe(true);
  });

  test("turns at a time and tokens are counted at each limit by themselves", async () => {
    const process = await start();
    const [first, second] = [row({ concurrentRequests: 2, tokensPerMinute: 10 }), row({ tokensPerDay: 10 })];
    const running = [await enter(process, first, second), await enter(process, first)];
    expect((await enter(process, first)).reached?.limit).toBe("concurrency");
    running[0]?.leave([0, 10]);
    running[1]?.leave([9]);
    expect(await admits(process, first)).toBe(true);
    expect((await enter(process, first, second)).reached).toMatchObject({ index: 1, limit: "tokens_per_day" });
  });
}

describe("in one process", () => {
  describeCounts(async () => counting());
});

describeWithRedis("with Redis", () => {
  describeCounts(() => sharing());

  test("processes admit exactly the limit together", async () => {
    const processes = await Promise.all(Array.from({ length: 3 }, () => sharing()));
    const rows = [row({ requestsPerDay: 50, concurrentRequests: 1_000 }), row({ requestsPerDay: 70 })];
    const all = await Promise.all(
      Array.from({ length: 300 }, (_, index) => admits(processes[index % 3] as Counting, ...rows)),
    );
    expect(all.filter(Boolean)).toHaveLength(50);
  });

  test("a day's use outlives the loss of Redis, and what was admitted meanwhile is added", async () => {
    const link = new DatabaseLink(redisUrl);
    try {
      const process = await sharing(await link.open(redisUrl));
      const limited = row({ requestsPerDay: 10 });
      for (let n = 0; n < 4; n++) expect(await admits(process, limited)).toBe(true);
      await link.cut();
      await eventually(async () => !(await process.isShared()));
      for (let n = 0; n < 3; n++) expect(await admits(process, limited)).toBe(true);
      await link.restore();
      await eventually(process.isShared);
      expect(await countAdmitted(await sharing(), limited)).toBe(3);
    } finally {
      await stopAll();
      await link.cut();
    }
  });
});
