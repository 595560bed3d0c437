/** Limits in a Redis Cluster, and in a Redis under a Sentinel, whose primary is lost under load. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "@jest/globals";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import type { ModelLimitRow } from "@sluice/proto/lib/limits/joint-admission.js";
import { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { eventually } from "../../support/processes.ts";
import { describeWithRedisServer, startRedisCluster, startRedisSentinel } from "../../support/redis-groups.ts";

const perDay = 40;
/** Number of workspaces, enough for every server of the Redis Cluster to hold the limits of some. */
const workspaces = 24;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

class Process {
  readonly #registry = new Registry();
  readonly #limiter: Limiter;

  constructor(url: string) {
    const [registry, log] = [this.#registry, { info: () => {}, warn: () => {} } as never];
    this.#limiter = new Limiter({
      config: () => ({ streams_per_key: 64, requests_per_minute: null, tokens_per_minute: null }),
      origin: FaultOrigin.INFERENCE,
      registry,
      shared: { url, process: randomUUID(), kind: "inference-svc", log, registry },
    });
    ends.push(() => this.#limiter.stop());
  }

  async figure(name: string): Promise<number> {
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(await this.#registry.metrics())?.[1]);
  }

  readonly isShared = async () => (await this.figure("sluice_limits_shared")) === 1;

  async admits(row: ModelLimitRow): Promise<boolean> {
    const admission = await this.#limiter.enterModels([row]);
    admission.leave([]);
    return admission.reached === undefined;
  }

  async enterKey(keyHash: string, requestsPerMinute: number): Promise<boolean> {
    const admission = await this.#limiter.enter({ keyHash, rateLimits: { requestsPerMinute } } as never);
    admission.leave(false);
    return admission.refusal === undefined;
  }
}

const rowsOf = (): readonly ModelLimitRow[] =>
  Array.from({ length: workspaces }, () => ({
    id: `{${randomUUID()}}:models`,
    limits: {
      requestsPerMinute: undefined,
      tokensPerMinute: undefined,
      requestsPerDay: perDay,
      concurrentRequests: 100,
    },
  }));

describeWithRedisServer("with Redis servers of this test", () => {
  test.each([
    { name: "a Redis Cluster", start: startRedisCluster, end: "dies" as const },
    { name: "a Redis Cluster", start: startRedisCluster, end: "hangs" as const },
    { name: "a Redis under a Sentinel", start: startRedisSentinel, end: "dies" as const },
    { name: "a Redis under a Sentinel", start: startRedisSentinel, end: "hangs" as const },
  ])(
    "two processes count $name together, and exceed it by at most three fifths when a primary $end under load",
    async ({ start, end }) => {
      const folder = await mkdtemp(join(tmpdir(), "sluice-redis-"));
      ends.push(() => rm(folder, { recursive: true, force: true }));
      const group = await start(folder);
      ends.push(group.stop);
      const processes = [new Process(group.url), new Process(group.url)] as const;
      for (const process of processes) {
        await eventually(process.isShared);
        await eventually(async () => (await process.figure("sluice_limits_processes")) === 2);
      }
      const [exact, under] = [rowsOf(), rowsOf()];
      const admitted = new Map<ModelLimitRow, number>();
      /** Each process has only one step in progress at a time. */
      const enterAll = async (rows: readonly ModelLimitRow[], times: number) => {
        const enter = async (process: Process) => {
          for (let n = 0; n < times; n++)
            for (const row of rows) if (await process.admits(row)) admitted.set(row, (admitted.get(row) ?? 0) + 1);
        };
        await Promise.all(processes.map(enter));
      };
      await enterAll(exact, perDay);
      expect(exact.map((row) => admitted.get(row))).toEqual(exact.map(() => perDay));

      await enterAll(under, perDay / 4);
      const ended = end === "dies" ? group.primary.kill() : group.primary.hang();
      const losses = async () =>
        Promise.all(processes.map((process) => process.figure("sluice_limits_redis_losses_total")));
      await eventually(async () => {
        await enterAll(under, 1);
        return (await losses()).every((count) => count > 0);
      });
      await ended;
      for (const process of processes) await eventually(process.isShared);
      await eventually(async () => {
        for (const process of processes) if (!(await process.isShared())) return false;
        const before = await losses();
        await enterAll(under, perDay);
        return (await losses()).every((count, n) => count === before[n]);
      });
      for (const row of under) {
        // Each process by itself admits three fifths of the limit. The first that reconnects also admits what the other has not reported yet.
        expect(admitted.get(row)).toBeLessThanOrEqual(perDay * 1.6);
        // A step in progress may count twice: at the lost server, which had replicated it, and again when its process repeats it.
        expect(admitted.get(row)).toBeGreaterThanOrEqual(perDay - processes.length);
      }
      for (const process of processes) for (const row of exact) expect(await process.admits(row)).toBe(false);
      const key = randomUUID();
      const both = await Promise.all(Array.from({ length: 20 }, (_, n) => processes[n % 2]!.enterKey(key, 4)));
      expect(both.filter(Boolean)).toHaveLength(4);
    },
  );
});
