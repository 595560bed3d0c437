/** Faults of a cluster. The same seed draws the same ones in the same order. */
import { setTimeout as wait } from "node:timers/promises";
import type { Random } from "../fuzz/random.ts";
import type { ReplicaCluster } from "./cluster.ts";
import type { RedisPair } from "./redis-pair.ts";

export interface Fault {
  readonly words: string;
  /** Settles when the fault is over: the process is ready again, or the link whole. */
  strike(): Promise<unknown>;
}

const longestMs = 1_500;
/** Two faults at once, so often. */
const pairShare = 0.25;

const kinds = ["kill", "kill", "kill", "pause", "pause", "freeze", "cut", "reset", "database"] as const;
const kindsWithRedis = [...kinds, "redis"] as const;

/** One or two faults at a time. */
export function drawFaults(cluster: ReplicaCluster, random: Random): readonly Fault[] {
  const first = draw(cluster, random);
  if (!random.chance(pairShare)) return [first];
  const second = draw(cluster, random);
  const subject = ({ words }: Fault) => words.slice(words.indexOf(" ") + 1);
  return subject(first) === subject(second) ? [first] : [first, second];
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
      return { words: `kills ${replica.name}`, strike: () => replica.kill().then(() => replica.start()) };
    case "pause":
      return {
        words: `pauses ${replica.name}`,
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
        strike: () =>
          during(
            ms,
            () => link.cut(),
            () => link.restore(),
          ),
      };
    case "reset":
      return { words: `resets ${name}`, strike: async () => link.reset() };
    case "database":
      if (isFailOver) return { words: "promotes Postgres", strike: () => cluster.failOver() };
      return { words: "kills Postgres", strike: () => cluster.postgres.crash() };
    case "redis":
      return drawRedisFault(cluster, redis as RedisPair, random, ms);
  }
}

/** @param ms how long it is away */
function drawRedisFault(cluster: ReplicaCluster, redis: RedisPair, random: Random, ms: number): Fault {
  const pause = () => wait(ms);
  const moved = () => cluster.followRedis(redis);
  return random.pick<Fault>([
    { words: "kills Redis", strike: () => redis.crash(pause) },
    { words: "promotes Redis", strike: () => redis.failOver(pause, moved) },
    { words: "demotes Redis", strike: () => redis.handOver(moved) },
  ]);
}

async function during(ms: number, begin: () => unknown, end: () => unknown): Promise<void> {
  await begin();
  await wait(ms);
  await end();
}
