/** Faults of a cluster. The same seed draws the same faults in the same order. */
import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../../support/random.ts";
import type { ReplicaCluster } from "./cluster.ts";
import type { RedisPair } from "./redis-pair.ts";
import type { ServiceProcess } from "./service-process.ts";

export interface Fault {
  readonly words: string;
  /** Name of the process or link with the fault. */
  readonly subject: string;
  /** Causes the fault. The promise resolves when it is over: the process is ready again, or the link whole. */
  strike(): Promise<unknown>;
}

const longestMs = 1_500;
/** Maximum clock error of a process in seconds. */
export const maxClockShift = 300;
/** Share of cases in which two faults happen at once. */
const pairShare = 0.25;

const kinds = ["kill", "kill", "kill", "pause", "pause", "freeze", "cut", "reset", "database"] as const;
const kindsWithRedis = [...kinds, "redis"] as const;

/** One or two faults at a time. */
export function drawFaults(cluster: ReplicaCluster, random: Random): readonly Fault[] {
  const first = draw(cluster, random);
  if (!random.chance(pairShare)) return [first];
  const second = draw(cluster, random);
  return first.subject === second.subject ? [first] : [first, second];
}

function draw(cluster: ReplicaCluster, random: Random): Fault {
  const { redis } = cluster;
  const kind = random.pick<(typeof kindsWithRedis)[number]>(redis ? kindsWithRedis : kinds);
  const replica = random.pick(cluster.replicas);
  const { name, link } = random.pick(cluster.links);
  const ms = random.below(longestMs);
  const isFailOver = random.chance(1 / 3);
  switch (kind) {
    case "kill":
      return killing(cluster, replica, random);
    case "pause":
      return {
        words: `pauses ${replica.name}`,
        subject: replica.name,
        strike: () =>
          during(
            ms,
            () => replica.pause(),
            () => replica.resume(),
          ),
      };
    case "freeze":
      return {
        words: `freezes ${name}`,
        subject: name,
        strike: () =>
          during(
            ms,
            () => link.freeze(),
            () => link.thaw(),
          ),
      };
    case "cut":
      return {
        words: `cuts ${name}`,
        subject: name,
        strike: () =>
          during(
            ms,
            () => link.cut(),
            () => link.restore(),
          ),
      };
    case "reset":
      return { words: `resets ${name}`, subject: name, strike: async () => link.reset() };
    case "database":
      return isFailOver
        ? { words: "promotes Postgres", subject: "Postgres", strike: () => cluster.failOver() }
        : { words: "kills Postgres", subject: "Postgres", strike: () => cluster.postgres.crash() };
    case "redis":
      return drawRedisFault(cluster, redis as RedisPair, random, ms);
  }
}

/**
 * A fault that kills a process. The process restarts with another clock and, if there are two builds, with either. An admin-svc restarts with the
 * newer build, because an older one does not start once the schema is newer.
 */
function killing({ older }: ReplicaCluster, replica: ServiceProcess, random: Random): Fault {
  const seconds = random.below(2 * maxClockShift + 1) - maxClockShift;
  const isOlder = older !== undefined && replica.options.service !== "admin-svc" && random.chance(0.5);
  const clock = `whose clock is then ${Math.abs(seconds)} s ${seconds < 0 ? "behind" : "ahead"}`;
  const options = { clockShiftMs: seconds * 1_000, checkout: isOlder ? older : undefined };
  return {
    words: `kills ${replica.name}, ${clock}${isOlder ? " and whose build is the older one" : ""}`,
    subject: replica.name,
    strike: () => replica.kill().then(() => replica.start(options)),
  };
}

/** @param ms milliseconds for which Redis is away */
function drawRedisFault(cluster: ReplicaCluster, redis: RedisPair, random: Random, ms: number): Fault {
  const pause = () => wait(ms);
  const moved = () => cluster.followRedis(redis);
  const subject = "Redis";
  return random.pick<Fault>([
    { words: "kills Redis", subject, strike: () => redis.crash(pause) },
    { words: "promotes Redis", subject, strike: () => redis.failOver(pause, moved) },
    { words: "demotes Redis", subject, strike: () => redis.handOver(moved) },
  ]);
}

async function during(ms: number, begin: () => unknown, end: () => unknown): Promise<void> {
  await begin();
  await wait(ms);
  await end();
}
