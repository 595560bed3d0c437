/**
 * Measures the steps of limits in Redis: `node test/dist/campaigns/bench/redis-limits.js` (half a minute, with the machine's `redis-server`). One
 * process enters and leaves a key while others have a turn open there; the time is that of Redis for a script, from its own statistics. Then turns of
 * one key pass through the limiter of a process, one at a time and many at once.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { redisKeysOf, scripts } from "@sluice/proto/lib/limits/scripts.js";
import { Redis } from "ioredis";
import { formerScripts } from "../../support/former-limits.ts";
import { eventually } from "../../support/processes.ts";
import { RedisServer, hasRedisServer } from "../../support/redis-server.ts";
import { freePort } from "../../support/runner/free-ports.ts";

const processCounts = [1, 100, 1_000];
/** Lifetime of an entry in Redis: longer than the run, and its steps renew it. */
const leaseMs = 600_000;
const steps = 4_000;
const atOnce = 50;

/** Limits of a key (requests and tokens per minute, open turns), and then the amounts of a request that opens a turn. */
const limits = [1_000_000, 1_000_000, 100_000, 1, 1];

interface Form {
  readonly name: string;
  readonly enter: string;
  readonly leave: string;
  readonly keys: readonly string[];
}

const forms: readonly Form[] = [
  { ...formerScripts, name: "builds until 2026-11", keys: [redisKeysOf("former")[0]] },
  { ...scripts, name: "this build", keys: redisKeysOf("present") },
];

/** @returns microseconds in Redis for a step of one process, the mean of entering and leaving */
async function measure(redis: Redis, { enter, leave, keys }: Form, processes: number): Promise<number> {
  await redis.flushall();
  const enters = (process: string) => redis.eval(enter, keys.length, ...keys, process, leaseMs, ...limits, 1);
  const leaves = (process: string) => redis.eval(leave, keys.length, ...keys, process, leaseMs, 1, 100, 1_000_000);
  for (let n = 1; n < processes; n++) await enters(`process-${n}`);
  const turn = async () => {
    await enters("process-0");
    await leaves("process-0");
  };
  await redis.config("RESETSTAT");
  for (let n = 0; n < steps / 2; n += atOnce) await Promise.all(Array.from({ length: atOnce }, turn));
  const [, spent] = /cmdstat_eval:.*usec_per_call=([\d.]+)/.exec(await redis.info("commandstats")) ?? [];
  return Number(spent);
}

async function measureAll(redis: Redis): Promise<void> {
  for (const form of forms) {
    for (const processes of processCounts) {
      const rounds: number[] = [];
      for (let round = 0; round < 3; round++) rounds.push(await measure(redis, form, processes));
      const median = rounds.toSorted((one, other) => one - other)[1] as number;
      console.log(`${form.name}: ${processes} processes with turns of the key: ${median.toFixed(1)} us a step`);
    }
  }
}

/** Microseconds for a turn in Redis and in this process. */
async function measureTurns(redis: Redis, limiter: Limiter, together: number): Promise<string> {
  const turns = 5 * steps;
  const caller = { keyHash: `together-${together}`, rateLimits: { requestsPerMinute: 100_000_000 } } as never;
  const client = async () => {
    for (let n = 0; n < turns / 64; n++) (await limiter.enter(caller)).leave(false);
  };
  await redis.config("RESETSTAT");
  const before = process.cpuUsage();
  for (let rounds = 64 / together; rounds > 0; rounds--) await Promise.all(Array.from({ length: together }, client));
  const { user, system } = process.cpuUsage(before);
  // This call is answered only after the last leave, so all statistics are complete.
  await limiter.enter(caller);
  const stats = (await redis.info("commandstats")).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)/g);
  const [calls, spent] = [...stats].reduce(([c, t], [, one, time]) => [c + Number(one), t + Number(time)], [0, 0]);
  const each = (sum: number, digits = 0) => (sum / turns).toFixed(digits);
  return `${each(calls, 2)} calls, ${each(spent)} us of Redis, ${each(user + system)} us of the process`;
}

async function measureTogether(redis: Redis): Promise<void> {
  const registry = new Registry();
  const limiter = new Limiter({
    config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null }),
    origin: FaultOrigin.GATEWAY,
    registry,
    shared: {
      url: `redis://127.0.0.1:${server.port}`,
      process: "one",
      kind: "gateway",
      log: { info: () => {}, warn: () => {} },
      registry,
    },
  });
  await eventually(async () => /^sluice_limits_shared 1$/m.test(await registry.metrics()));
  for (const together of [64, 1, 64, 1])
    console.log(`${together} turns of a key at once: ${await measureTurns(redis, limiter, together)} a turn`);
  await limiter.stop();
}

if (!(await hasRedisServer())) throw new Error("the machine has no redis-server");
const folder = await mkdtemp(join(tmpdir(), "sluice-redis-limits-"));
const server = new RedisServer(await freePort(), folder);
await server.start();
const redis = new Redis(server.port);
try {
  await measureAll(redis);
  await measureTogether(redis);
} finally {
  redis.disconnect();
  await server.kill();
  await rm(folder, { recursive: true, force: true });
}
