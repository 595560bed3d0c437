/** Several limits of one turn: all of them count it or none, a changed limit of the day keeps the use, and Redis counts like the process. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { JointAdmission, ModelLimitRow } from "@sluice/proto/lib/limits/joint-admission.js";
import { readOnlyUse } from "@sluice/proto/lib/limits/decision.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type { KeyLimits } from "@sluice/proto/lib/limits/settings.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Redis } from "ioredis";
import { DatabaseLink } from "../../support/database-link.ts";
import { leaveAfter } from "../../support/admissions.ts";
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

/** Ends a turn that has used these numbers of tokens, one number for each limit. */
const leaveWith = (admission: JointAdmission | undefined, ...tokens: readonly number[]): void =>
  admission?.leave(tokens.map((each) => ({ tokens: each, isUnused: false })));

const admits = async (process: Counting, ...rows: readonly ModelLimitRow[]): Promise<boolean> => {
  const admission = await enter(process, ...rows);
  admission.leave([]);
  return admission.reached === undefined;
};

/** Number of requests that are admitted before the first refusal. */
async function countAdmitted(process: Counting, ...rows: readonly ModelLimitRow[]): Promise<number> {
  for (let count = 0; ; count++) if (!(await admits(process, ...rows))) return count;
}

/** Whether exactly this number of tokens of the day is left. */
async function hasTokens(process: Counting, limited: ModelLimitRow, left: number): Promise<boolean> {
  leaveWith(await enter(process, limited), left - 1);
  const last = await enter(process, limited);
  leaveWith(last, 1);
  return last.reached === undefined && !(await admits(process, limited));
}

function describeCounts(start: () => Promise<Counting>): void {
  test("a turn refused by one model limit does not count in any other", async () => {
    const process = await start();
    const [wide, narrow] = [row({ requestsPerDay: 5 }), row({ requestsPerDay: 2 })];
    expect(await countAdmitted(process, wide, narrow)).toBe(2);
    for (let n = 0; n < 4; n++) expect(await admits(process, wide, narrow)).toBe(false);
    expect(await countAdmitted(process, wide)).toBe(3);
  });

  test("the refusal by model limits names the limit with the longest wait", async () => {
    const process = await start();
    const rows = [row({ requestsPerMinute: 1 }), row({ requestsPerDay: 1, concurrentRequests: 9 })];
    expect(await countAdmitted(process, ...rows)).toBe(1);
    const { reached } = await enter(process, ...rows);
    expect(reached).toMatchObject({ index: 1, limit: "requests_per_day", maximum: 1 });
    expect(reached?.retryAfterMs).toBeGreaterThan(86_000_000);
    expect(reached?.retryAfterMs).toBeLessThanOrEqual(86_400_000);
  });

  test("a changed daily limit keeps the used requests and tokens", async () => {
    const process = await start();
    const { id } = row({});
    const limited = (requestsPerDay: number) => row({ requestsPerDay }, id);
    expect(await countAdmitted(process, limited(4))).toBe(4);
    expect(await countAdmitted(process, limited(6))).toBe(2);
    expect(await admits(process, limited(3))).toBe(false);
    expect(await countAdmitted(process, limited(10))).toBe(4);
    const tokens = row({ tokensPerDay: 100 });
    leaveWith(await enter(process, tokens), 100);
    expect(await admits(process, tokens)).toBe(false);
    expect(await admits(process, row({ tokensPerDay: 101 }, tokens.id))).toBe(true);
  });

  test("a daily limit that is lowered far below the use and raised again keeps the use", async () => {
    const process = await start();
    const { id } = row({});
    const limited = (perDay: number) => row({ requestsPerDay: perDay, tokensPerDay: 10 * perDay }, id);
    for (let n = 0; n < 29; n++) expect(await admits(process, limited(40))).toBe(true);
    const running = await enter(process, limited(40));
    const { reached } = await enter(process, limited(1));
    expect(reached?.retryAfterMs).toBeLessThanOrEqual(172_800_000);
    leaveWith(running, 390);
    for (let n = 0; n < 3; n++) expect(await admits(process, limited(1))).toBe(false);
    expect(await admits(process, limited(39))).toBe(false);
    expect(await countAdmitted(process, limited(40))).toBe(10);
    expect(await admits(process, limited(1))).toBe(false);
    expect(await countAdmitted(process, limited(60))).toBe(20);
  });

  test("a daily limit that is raised while a turn runs keeps the use when the turn ends", async () => {
    const process = await start();
    const { id } = row({});
    const limited = (perDay: number) => row({ requestsPerDay: perDay, tokensPerDay: 10 * perDay }, id);
    const running = await enter(process, limited(1));
    for (let n = 0; n < 30; n++) expect(await admits(process, limited(40))).toBe(true);
    leaveWith(await enter(process, limited(40)), 300);
    leaveWith(running, 10);
    expect(await hasTokens(process, row({ tokensPerDay: 400 }, id), 90)).toBe(true);
    expect(await countAdmitted(process, row({ requestsPerDay: 40 }, id))).toBe(8);
  });

  test("a daily limit that is lowered while a turn runs keeps the use when the turn ends", async () => {
    const process = await start();
    const { id } = row({});
    const limited = (tokensPerDay: number) => row({ tokensPerDay }, id);
    // This limit regains a thousand tokens in a microsecond.
    const unused = await enter(process, limited(86_400_000_000_000));
    const running = await enter(process, limited(4_000));
    leaveWith(await enter(process, limited(100)), 50);
    leaveWith(unused, 1);
    leaveWith(await enter(process, limited(100)), 39);
    expect(await hasTokens(process, limited(100), 10)).toBe(true);
    leaveWith(running, 3_000);
    expect(await hasTokens(process, limited(4_000), 900)).toBe(true);
  });

  test("concurrent turns and tokens are counted for each model limit separately", async () => {
    const process = await start();
    const [first, second] = [row({ concurrentRequests: 2, tokensPerMinute: 10 }), row({ tokensPerDay: 10 })];
    const running = [await enter(process, first, second), await enter(process, first)];
    expect((await enter(process, first)).reached?.limit).toBe("concurrency");
    leaveWith(running[0], 0, 10);
    leaveWith(running[1], 9);
    expect(await admits(process, first)).toBe(true);
    expect((await enter(process, first, second)).reached).toMatchObject({ index: 1, limit: "tokens_per_day" });
  });

  test("a turn may end at one of its model limits before the others", async () => {
    const process = await start();
    const [first, second] = [
      row({ concurrentRequests: 1, requestsPerDay: 2 }),
      row({ concurrentRequests: 1, requestsPerDay: 2 }),
    ];
    const running = await enter(process, first, second);
    running.leave([{ tokens: 0, isUnused: true }], [1]);
    expect(await countAdmitted(process, second)).toBe(2);
    expect((await enter(process, first)).reached?.limit).toBe("concurrency");
    running.leave([], [0]);
    expect(await countAdmitted(process, first)).toBe(1);
  });

  test("a turn that called none of the models does not count in any limit", async () => {
    const process = await start();
    const rows = [row({ requestsPerMinute: 2, concurrentRequests: 1 }), row({ requestsPerDay: 2 })];
    for (let n = 0; n < 5; n++) {
      const admission = await enter(process, ...rows);
      expect(admission.reached).toBeUndefined();
      admission.leave(rows.map(() => ({ tokens: 0, isUnused: true })));
    }
    expect(await countAdmitted(process, ...rows)).toBe(2);
  });

  test("a refusal names no model limit that was raised since it was reached", async () => {
    const process = await start();
    const [narrow, day] = [row({ requestsPerMinute: 1 }), row({ requestsPerDay: 4 })];
    expect([await countAdmitted(process, narrow), await countAdmitted(process, day)]).toEqual([1, 4]);
    const raised = row({ requestsPerDay: 8 }, day.id);
    expect((await enter(process, narrow, raised)).reached).toMatchObject({ index: 0, limit: "requests" });
  });
}

describe("model limits in one process", () => {
  describeCounts(async () => counting());

  test("hold when the uses of other limits are removed", async () => {
    const process = counting();
    const one = () => row({ concurrentRequests: 1 });
    // With the next new limit, the limiter removes unused ones.
    for (let n = 0; n < 1_023; n++) await enter(process, one());
    const limited = one();
    const running = await enter(process, limited, one());
    expect((await enter(process, limited)).reached?.limit).toBe("concurrency");
    running.leave([]);
    expect(await admits(process, limited)).toBe(true);
  });
});

describeWithRedis("model limits with Redis", () => {
  describeCounts(() => sharing());

  test("are held exactly by several processes together", async () => {
    const processes = await Promise.all(Array.from({ length: 3 }, () => sharing()));
    const rows = [row({ requestsPerDay: 50, concurrentRequests: 1_000 }), row({ requestsPerDay: 70 })];
    const all = await Promise.all(
      Array.from({ length: 300 }, (_, index) => admits(processes[index % 3] as Counting, ...rows)),
    );
    expect(all.filter(Boolean)).toHaveLength(50);
  });

  describe("that goes away and comes back", () => {
    let link: DatabaseLink;
    let process: Counting;

    beforeEach(async () => {
      link = new DatabaseLink(redisUrl);
      process = await sharing(await link.open(redisUrl));
    });
    afterEach(async () => {
      await stopAll();
      await link.cut();
    });

    const lose = async () => {
      await link.cut();
      await eventually(async () => !(await process.isShared()));
    };

    const find = async () => {
      await link.restore();
      await eventually(process.isShared);
      return sharing();
    };

    test("keep a day's use, and add the requests admitted meanwhile", async () => {
      const limited = row({ requestsPerDay: 10 });
      for (let n = 0; n < 4; n++) expect(await admits(process, limited)).toBe(true);
      await lose();
      for (let n = 0; n < 3; n++) expect(await admits(process, limited)).toBe(true);
      expect(await countAdmitted(await find(), limited)).toBe(3);
    });

    test("keep a day's use if Redis loses its memory, also without requests meanwhile", async () => {
      const limited = row({ requestsPerDay: 10 });
      for (let n = 0; n < 4; n++) expect(await admits(process, limited)).toBe(true);
      await lose();
      const redis = new Redis(redisUrl);
      expect(await redis.del(`sluice:limits:key:${limited.id}`)).toBe(1);
      redis.disconnect();
      expect(await countAdmitted(await find(), limited)).toBe(6);
    });

    test("keep the day's use of many limits if Redis loses its memory, at once for a limit in use", async () => {
      const all = Array.from({ length: 400 }, () => row({ requestsPerDay: 3, concurrentRequests: 1 }));
      for (const limited of all) expect(await admits(process, limited)).toBe(true);
      await lose();
      const redis = new Redis(redisUrl);
      expect(await redis.del(all.map(({ id }) => `sluice:limits:key:${id}`))).toBe(400);
      const other = await find();
      expect(await countAdmitted(process, all.at(-1) as ModelLimitRow)).toBe(2);
      const keys = all.map(({ id }) => `sluice:limits:key:${id}`);
      await eventually(async () => (await redis.exists(keys)) === 400);
      redis.disconnect();
      expect(await countAdmitted(other, all.at(-2) as ModelLimitRow)).toBe(2);
    });

    test("allow further requests under a daily limit that was raised meanwhile", async () => {
      const { id } = row({});
      expect(await countAdmitted(process, row({ requestsPerDay: 4 }, id))).toBe(4);
      await lose();
      const raised = row({ requestsPerDay: 12 }, id);
      expect(await admits(process, raised)).toBe(true);
      expect(await countAdmitted(await find(), raised)).toBe(7);
    });

    test("keep the use of a daily limit that is lowered meanwhile, and raised again afterwards", async () => {
      const { id } = row({});
      const limited = (requestsPerDay: number) => row({ requestsPerDay }, id);
      for (let n = 0; n < 30; n++) expect(await admits(process, limited(40))).toBe(true);
      expect(await admits(process, limited(1))).toBe(false);
      await lose();
      expect(await admits(process, limited(1))).toBe(false);
      const other = await find();
      expect(await admits(process, limited(1))).toBe(false);
      expect(await countAdmitted(other, limited(40))).toBe(10);
    });

    test("keep the use of a daily limit that is lowered, and raised after Redis lost its memory", async () => {
      const { id } = row({});
      const limited = (requestsPerDay: number) => row({ requestsPerDay }, id);
      for (let n = 0; n < 30; n++) expect(await admits(process, limited(40))).toBe(true);
      expect(await admits(process, limited(1))).toBe(false);
      await lose();
      const redis = new Redis(redisUrl);
      expect(await redis.del(`sluice:limits:key:${id}`)).toBe(1);
      redis.disconnect();
      const other = await find();
      expect(await admits(process, limited(1))).toBe(false);
      expect(await countAdmitted(other, limited(40))).toBe(10);
    });

    test("keep the use counted by other processes in a process that missed the raise of a daily limit", async () => {
      const { id } = row({});
      const limited = (requestsPerDay: number) => row({ requestsPerDay }, id);
      const running = await enter(process, limited(1));
      await lose();
      const other = await sharing();
      for (let n = 0; n < 30; n++) expect(await admits(other, limited(40))).toBe(true);
      await find();
      leaveWith(running, 0);
      expect(await admits(process, limited(1))).toBe(false);
      expect(await countAdmitted(other, limited(40))).toBe(9);
    });

    test("count a request and charge tokens once after a late answer, and also a step that was never run", async () => {
      for (const isRun of [true, false]) {
        const [requests, tokens] = [row({ requestsPerDay: 10 }), row({ tokensPerDay: 100 })];
        const running = await enter(process, tokens);
        link.freeze();
        // Both messages wait for their answers at the same time, and both time out.
        const entering = enter(process, requests);
        leaveWith(running, 40);
        expect((await entering).reached).toBeUndefined();
        await eventually(async () => !(await process.isShared()));
        if (!isRun) link.reset();
        link.thaw();
        await eventually(process.isShared);
        const other = await sharing();
        expect(await countAdmitted(other, requests)).toBe(9);
        expect(await hasTokens(other, tokens, 60)).toBe(true);
      }
    });

    test("count a request and charge tokens of a key once after a late answer", async () => {
      // A request or token of these limits is regained after 15 s.
      const key = { keyHash: randomUUID(), rateLimits: { requestsPerMinute: 4, tokensPerMinute: 4 } } as never;
      const running = await process.limiter.enter(key);
      link.freeze();
      const entering = process.limiter.enter(key);
      leaveAfter(2, running);
      expect((await entering).refusal).toBeUndefined();
      await eventually(async () => !(await process.isShared()));
      link.thaw();
      await eventually(process.isShared);
      const { headers } = await (await sharing()).limiter.enter(key, readOnlyUse);
      expect(headers).toMatchObject({ "x-ratelimit-remaining-requests": "1" });
      const { headers: after } = await (await sharing()).limiter.enter(key);
      expect(after).toMatchObject({ "x-ratelimit-remaining-requests": "0", "x-ratelimit-remaining-tokens": "2" });
    });

    test("charge the tokens of a turn that ends just as it is lost", async () => {
      const limited = row({ tokensPerDay: 100 });
      const running = await enter(process, limited);
      link.reset();
      leaveWith(running, 100);
      await eventually(async () => !(await process.isShared()));
      await eventually(process.isShared);
      const other = await sharing();
      await eventually(async () => !(await admits(other, limited)));
    });
  });
});
