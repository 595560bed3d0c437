/** Random histories of turns, against a plain count of them: many processes at one Redis, by its own scripts and by those of builds until 2026-11, and one process alone. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { redisKeysOf, scripts } from "@sluice/proto/lib/limits/scripts.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { Redis } from "ioredis";
import { formerScripts } from "../../support/former-limits.ts";
import { Random } from "../../support/random.ts";
import { describeWithRedis, redisUrl } from "../../support/redis.ts";
import { fixedSeed } from "../../support/runner/fixed-seed.ts";

const steps = 10_000;
const minuteMs = 60_000;
const dayMs = 86_400_000;
/**
 * Validity of the turns of a process, much longer than the test, because Redis removes a key by its real clock, while the scripts use the clock
 * of the history.
 */
const leaseMs = 1_500_000;

/** The correct use of a limit, by a plain count. */
class Counted {
  /** The turns of each process, and the time until which they are valid. */
  readonly turns = new Map<string, { count: number; till: number }>();
  /** Times until which requests and tokens a minute, and requests a day, are used up. */
  requests = 0;
  tokens = 0;
  day = 0;
  dayLimit = 0;

  open(now: number): number {
    return [...this.turns.values()].reduce((sum, { count, till }) => (till < now ? sum : sum + count), 0);
  }

  own(process: string, now: number): number {
    const known = this.turns.get(process);
    return known === undefined || known.till < now ? 0 : known.count;
  }

  /** @param renews whether the time of validity begins anew, although more than two thirds of it are left */
  set(process: string, count: number, now: number, renews: boolean): void {
    const till = this.turns.get(process)?.till ?? 0;
    const isRenewed = count > 0 && (renews || till - now < (leaseMs * 2) / 3);
    this.turns.set(process, { count, till: isRenewed ? now + leaseMs : till });
  }
}

interface Limits {
  readonly requests: number;
  readonly tokens: number;
  readonly day: number;
  readonly turns: number;
}

const isOut = (limit: number, used: number, period: number): boolean =>
  limit > 0 && Math.floor((period - used) / (period / limit) + 0.01) < 1;
const aheadOf = (paidUntil: number, now: number): number => Math.max(0, paidUntil - now);

function dayAhead(use: Counted, limit: number, now: number): number {
  const ahead = aheadOf(use.day, now);
  return limit > 0 && use.dayLimit > 0 ? (ahead * use.dayLimit) / limit : ahead;
}

/** Name of the refusing limit; "" if the turn is admitted. */
function decide(use: Counted, { requests, tokens, day, turns }: Limits, now: number): string {
  if (isOut(requests, aheadOf(use.requests, now), minuteMs)) return "requests";
  if (isOut(day, dayAhead(use, day, now), dayMs)) return "requests_per_day";
  if (isOut(tokens, aheadOf(use.tokens, now), minuteMs)) return "tokens";
  return turns > 0 && use.open(now) >= turns ? "concurrency" : "";
}

function admit(use: Counted, process: Process, { requests, day }: Limits, now: number): void {
  if (requests > 0) use.requests = now + aheadOf(use.requests, now) + minuteMs / requests;
  if (day > 0) {
    use.day = now + dayAhead(use, day, now) + dayMs / day;
    use.dayLimit = day;
  }
  use.set(process.name, use.own(process.name, now) + 1, now, process.isFormer);
}

function charge(use: Counted, tokens: number, limit: number, now: number): void {
  if (limit > 0) use.tokens = now + aheadOf(use.tokens, now) + (tokens * minuteMs) / limit;
}

interface Process {
  name: string;
  readonly isFormer: boolean;
  /** Numbers of turns that the process has begun and not ended, one for each limit. */
  open: number[];
}

/** Two limits of keys, and two of models that are always entered together. */
const count = 4;
const joint = [2, 3];

class History {
  readonly #redis: Redis;
  readonly #freed: number | undefined;
  readonly #random = new Random(fixedSeed);
  readonly #tag = randomUUID();
  readonly #uses = Array.from({ length: count }, () => new Counted());
  readonly #processes: Process[];
  #now = 1_800_000_000_000;
  readonly seen = new Map<string, number>();
  /** Refusals because not all expired processes were freed yet. */
  late = 0;

  /** @param freed expired processes that a step frees, in place of the number of the scripts */
  constructor(redis: Redis, processes: number, former: number, freed: number | undefined) {
    this.#redis = redis;
    this.#freed = freed;
    this.#processes = Array.from({ length: processes }, (_, n) => ({
      name: `process-${n}`,
      isFormer: n < former,
      open: Array<number>(count).fill(0),
    }));
  }

  async step(): Promise<void> {
    const random = this.#random;
    if (random.chance(0.3)) this.#now += random.below(random.pick([200, 200, 2_000]));
    if (random.chance(0.02)) this.#now += random.below(900_000);
    const process = random.pick(this.#processes);
    const index = random.below(count);
    const isJoint = joint.includes(index);
    const open = process.open[index] as number;
    if (random.chance(0.01)) this.#die(process);
    else if (random.chance(0.1)) await (open > 0 && this.#renew(process, index));
    else if (open > 0 && random.chance(0.5))
      await (isJoint ? this.#leaveJointly(process) : this.#leave(process, index));
    else await (isJoint ? this.#enterJointly(process) : this.#enter(process, index));
  }

  /** Checks that the total equals the sum of the processes, and that each process has a time of validity. */
  async check(): Promise<void> {
    for (let index = 0; index < count; index++) {
      const [, turns, leases] = redisKeysOf(this.#id(index));
      const { all, ...each } = await this.#redis.hgetall(turns);
      const counts = Object.values(each).map((value) => Number(value.split(" ")[0]));
      expect(Number(all ?? 0)).toBe(counts.reduce((sum, one) => sum + one, 0));
      expect(Math.min(0, ...counts)).toBe(0);
      expect(await this.#redis.zcard(leases)).toBe(counts.length);
    }
  }

  /** The process stops without a word to Redis, and a new process starts. */
  #die(process: Process): void {
    process.name = `process-${randomUUID()}`;
    process.open = Array<number>(count).fill(0);
  }

  async #enter(process: Process, index: number): Promise<void> {
    const use = this.#uses[index] as Counted;
    const limits = this.#limits(0);
    const alike = process.isFormer ? 1 : 1 + this.#random.below(3);
    const args = [limits.requests, limits.tokens, limits.turns, 1, 1, alike];
    const answer = await this.#run(process, "enter", [index], args);
    for (let n = 0; n < alike; n++) {
      const told = answer[3 * n] as string;
      if (await this.#isDecided(process, [index], told, decide(use, limits, this.#now))) continue;
      admit(use, process, limits, this.#now);
      process.open[index]!++;
      expect(Number(answer[3 * n + 1])).toBeCloseTo(aheadOf(use.requests, this.#now), 3);
    }
  }

  async #enterJointly(process: Process): Promise<void> {
    const limits = joint.map(() => this.#limits(this.#random.pick([0, 100, 150])));
    const args = limits.flatMap(({ requests, tokens, day, turns }) => [requests, tokens, day, 0, turns]);
    const [told, at] = await this.#run(process, "enterAll", joint, [1, 1, ...args]);
    const decisions = joint.map((index, n) => decide(this.#uses[index] as Counted, limits[n] as Limits, this.#now));
    const first = decisions.findIndex((decision) => decision !== "");
    if (await this.#isDecided(process, joint, told as string, decisions[first] ?? "")) {
      if (!process.isFormer && this.#freed === undefined) expect(at).toBe(first);
      return;
    }
    for (const [n, index] of joint.entries()) {
      admit(this.#uses[index] as Counted, process, limits[n] as Limits, this.#now);
      process.open[index]!++;
    }
  }

  async #leave(process: Process, index: number): Promise<void> {
    const [tokens, limit] = [this.#random.below(300), this.#random.pick([0, 1_000])];
    await this.#run(process, "leave", [index], [1, tokens, limit]);
    this.#end(process, index);
    charge(this.#uses[index] as Counted, tokens, limit, this.#now);
  }

  async #leaveJointly(process: Process): Promise<void> {
    const tokens = this.#random.below(300);
    await this.#run(process, "leaveAll", joint, [1, ...joint.flatMap(() => [tokens, 1_000, 0, 0, 0, 0])]);
    for (const index of joint) {
      this.#end(process, index);
      charge(this.#uses[index] as Counted, tokens, 1_000, this.#now);
    }
  }

  async #renew(process: Process, index: number): Promise<void> {
    const open = process.open[index] as number;
    await this.#run(process, "restore", [index], [open, ...Array<number>(16).fill(0)]);
    (this.#uses[index] as Counted).set(process.name, open, this.#now, true);
  }

  #end(process: Process, index: number): void {
    const use = this.#uses[index] as Counted;
    process.open[index]!--;
    use.set(process.name, Math.max(0, use.own(process.name, this.#now) - 1), this.#now, process.isFormer);
  }

  /** @returns whether it was refused, which must equal the plain count */
  async #isDecided(process: Process, all: readonly number[], told: string, due: string): Promise<boolean> {
    this.seen.set(told, (this.seen.get(told) ?? 0) + 1);
    // A step of an earlier build removes no expired process of this build, and one of this build removes only a limited number.
    const isBound = process.isFormer || this.#freed !== undefined;
    const isLate = told === "concurrency" && due !== told && isBound && (await this.#hasExpired(all));
    if (isLate) this.late++;
    else expect(told).toBe(due);
    return told !== "";
  }

  async #hasExpired(all: readonly number[]): Promise<boolean> {
    const counts = all.map((index) => this.#redis.zcount(redisKeysOf(this.#id(index))[2], "-inf", `(${this.#now}`));
    return (await Promise.all(counts)).some((each) => each > 0);
  }

  #limits(day: number): Limits {
    const random = this.#random;
    return {
      requests: random.pick([0, 0, 0, 4, 5]),
      tokens: random.pick([0, 0, 1_000]),
      day,
      turns: random.pick([0, 3, 5, 5, 8]),
    };
  }

  readonly #id = (index: number): string =>
    joint.includes(index) ? `{${this.#tag}}:${index}` : `${this.#tag}-${index}`;

  async #run(
    { name, isFormer }: Process,
    script: keyof typeof formerScripts,
    all: readonly number[],
    args: readonly number[],
  ): Promise<(string | number)[]> {
    const keys = all.flatMap((index) => redisKeysOf(this.#id(index)).slice(0, isFormer ? 1 : 3));
    const text = (isFormer ? formerScripts : scripts)[script];
    const timed = text
      .replace("redis.call('TIME')", "{0, ARGV[#ARGV] * 1000}")
      .replace("'LIMIT', 0, 1000", `'LIMIT', 0, ${this.#freed ?? 1_000}`);
    expect(timed).toContain("{0, ARGV[#ARGV] * 1000}");
    expect(isFormer || timed.includes(`'LIMIT', 0, ${this.#freed ?? 1_000})`)).toBe(true);
    const answer = await this.#redis.eval(timed, keys.length, ...keys, name, leaseMs, ...args, this.#now);
    return answer as (string | number)[];
  }
}

describeWithRedis("limits with Redis", () => {
  let redis: Redis;
  beforeAll(() => void (redis = new Redis(redisUrl)));
  afterAll(() => redis?.disconnect());

  test.each([
    { name: "processes of this build", processes: 12, former: 0, freed: undefined },
    {
      name: "processes of this build and of one until 2026-11, side by side",
      processes: 12,
      former: 5,
      freed: undefined,
    },
    { name: "processes of this build, of which one at a time is freed", processes: 12, former: 0, freed: 1 },
  ])("decide a history of $name, which die and renew late, like a plain count", async (given) => {
    const history = new History(redis, given.processes, given.former, given.freed);
    for (let n = 0; n < steps; n++) {
      await history.step();
      if (n % 50 === 0) await history.check();
    }
    const often = [...history.seen].filter(([, times]) => times > 50).map(([told]) => told);
    expect(often.toSorted()).toEqual(["", "concurrency", "requests", "requests_per_day", "tokens"]);
    if (given.freed === undefined) return;
    expect(history.late).toBeGreaterThan(0);
    expect(history.late).toBeLessThan(steps / 20);
  });

  test("remove a thousand expired processes in a step, and the rest in the next ones", async () => {
    const keys = redisKeysOf(randomUUID());
    const [, turns, leases] = keys;
    const names = Array.from({ length: 2_500 }, (_, n) => `dead-${n}`);
    await redis.hset(turns, "all", names.length, ...names.flatMap((name) => [`p:${name}`, "1 1000"]));
    await redis.zadd(leases, ...names.flatMap((name) => [1_000, name]));
    const enter = async () => {
      const answer = await redis.eval(scripts.enter, 3, ...keys, "one", 60_000, 0, 0, 1, 1, 1, 1);
      return [(answer as string[])[0], await redis.zcard(leases)];
    };
    expect(await enter()).toEqual(["concurrency", 1_500]);
    expect(await enter()).toEqual(["concurrency", 500]);
    expect(await enter()).toEqual(["", 1]);
    expect(await redis.hget(turns, "all")).toBe("1");
    expect(await enter()).toEqual(["concurrency", 1]);
  });

  test.each([0, 1, 2])("count turns anew after Redis has lost one of the keys of a limit (%i)", async (lost) => {
    const keys = redisKeysOf(randomUUID());
    const enter = async (turns: number) => {
      const answer = await redis.eval(scripts.enter, 3, ...keys, "one", 60_000, 0, 0, turns, 1, 1, 1);
      return (answer as string[])[0];
    };
    for (let n = 0; n < 4; n++) expect(await enter(9)).toBe("");
    await redis.del(keys[lost] as string);
    for (let n = 0; n < 2; n++) await enter(4);
    await redis.eval(scripts.restore, 3, ...keys, "one", 60_000, 4, ...Array<number>(16).fill(0));
    expect([await enter(4), await enter(5), await enter(5)]).toEqual(["concurrency", "", "concurrency"]);
  });
});

describe("limits in one process", () => {
  test("decide a history of turns under changing limits like a plain count", async () => {
    const limiter = new Limiter({
      config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null }),
      origin: FaultOrigin.GATEWAY,
      registry: new Registry(),
    });
    const random = new Random(fixedSeed);
    const open: Admission[][] = Array.from({ length: count }, () => []);
    let refused = 0;
    for (let n = 0; n < steps; n++) {
      const index = random.below(count);
      const turns = open[index] as Admission[];
      if (random.chance(0.4)) {
        turns.splice(random.below(turns.length + 1), 1)[0]?.leave(false);
        continue;
      }
      const limit = 1 + random.below(8);
      const caller = { keyHash: `key-${index}`, rateLimits: { concurrentRequests: limit } } as never;
      const admission = await limiter.enter(caller);
      expect(admission.refusal === undefined).toBe(turns.length < limit);
      if (admission.refusal) refused++;
      else turns.push(admission);
    }
    expect(refused).toBeGreaterThan(steps / 10);
    expect(limiter.open).toBe(open.flat().length);
    await limiter.stop();
  });
});
