/** How changes of policy reach all replicas, and what a restart of admin-svc causes. */
import { PolicyFeed } from "@sluice/admin-svc/service/policy-feed.js";
import { Access } from "@sluice/proto/lib/policy/access.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { AdminLink } from "./admin-link.ts";
import { newCaller } from "./fleet.ts";
import { Random } from "../../support/random.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Milliseconds between admin-svc's polls of the log, each of which is followed by a heartbeat (admin-svc/store/postgres/policy-listener.ts). */
const pollMs = 1_000;
export const silentLog = openLog("simulation", "silent");

/** Replicas that watch one admin-svc. */
export class WatchingFleet {
  readonly link: AdminLink;
  readonly replicas: readonly Access[];
  readonly #time: VirtualTime;
  #feed: PolicyFeed;
  /** Current generation of the policy in the database. */
  #generation = 1n;

  constructor(time: VirtualTime, random: Random, replicas: number, callsPerSecond: number) {
    this.#time = time;
    const callerOf = (keyHash: string) => newCaller(Number(keyHash.slice("key-".length)));
    this.link = new AdminLink({ time, random, callsPerSecond, callerOf });
    this.#feed = this.#newFeed();
    this.link.start(this.#feed);
    this.replicas = Array.from(
      { length: replicas },
      (_, place) =>
        new Access({
          client: this.link.client(),
          token: "t".repeat(32),
          process: `inference-svc-6c9d7b5f4-${String(place).padStart(5, "0")}`,
          log: silentLog,
          registry: new Registry(),
        }),
    );
    for (const replica of this.replicas) void replica.watch();
    time.every(pollMs, () => {
      const since = this.#feed.generation;
      this.#feed.caughtUp({ since, current: this.#generation, changes: [] });
    });
  }

  /** Commits a change. @returns milliseconds until its writer gets an answer, and the number of processes that had not acknowledged by then */
  async change(keyHashes: readonly string[] | null): Promise<{ readonly ms: number; readonly unsure: number }> {
    this.#generation += 1n;
    const begunAt = this.#time.now;
    const { processes } = await this.#feed.enforced({ generation: this.#generation, keyHashes });
    return { ms: this.#time.now - begunAt, unsure: processes.length };
  }

  /** Kills admin-svc and starts it again. */
  restart(downMs: number): void {
    this.link.kill();
    this.#feed = this.#newFeed();
    this.#time.after(downMs, () => this.link.start(this.#feed));
  }

  #newFeed(): PolicyFeed {
    return new PolicyFeed({ generation: this.#generation, read: () => {}, log: silentLog, registry: new Registry() });
  }
}

export interface ChangeFigures {
  readonly name: string;
  /** Milliseconds until every replica had applied and acknowledged the change. */
  readonly ms: number;
  readonly unsure: number;
  readonly messages: number;
  readonly bytes: number;
}

export interface RestartFigures {
  readonly downS: number;
  /** Number of attempts to connect in the busiest tenth of a second, and in the busiest second. */
  readonly peakTenth: number;
  readonly peakSecond: number;
  readonly connects: number;
  /** Seconds from the start of the new process until all replicas watch it. */
  readonly backS: number;
  /** Longest silence of admin-svc that a replica saw, in seconds. */
  readonly silenceS: number;
  /** Number of keys read again because of the change. */
  readonly reads: number;
}

export interface FanOutFigures {
  readonly replicas: number;
  readonly idleMessages: number;
  readonly idleBytes: number;
  readonly changes: readonly ChangeFigures[];
  readonly restarts: readonly RestartFigures[];
}

const names = (count: number): string[] => Array.from({ length: count }, (_, key) => `key-${key}`.padEnd(64, "0"));

export async function simulateFanOut(time: VirtualTime, seed: number, replicas: number): Promise<FanOutFigures> {
  const watching = new WatchingFleet(time, new Random(seed), replicas, 10_000);
  const { traffic } = watching.link;
  await time.pass(2_500);
  const idle = { ...traffic };
  await time.pass(10_000);
  const idleMessages = (traffic.messages - idle.messages) / 10;
  const idleBytes = (traffic.bytes - idle.bytes) / 10;
  const changes: ChangeFigures[] = [];
  for (const [name, keys] of Object.entries({
    "1 key": 1,
    "500 keys": 500,
    "10,000 keys": 10_000,
    "every key": null,
  })) {
    const before = { ...traffic };
    const changed = watching.change(keys === null ? null : names(keys));
    let figures: { readonly ms: number; readonly unsure: number } | undefined;
    void changed.then((found) => (figures = found));
    // The time passes between two heartbeats, since one would be counted with the change.
    await time.pass(450);
    const messages = traffic.messages - before.messages;
    const bytes = traffic.bytes - before.bytes;
    await time.pass(1_550);
    changes.push({ name, ...figures!, messages, bytes });
  }
  const restarts: RestartFigures[] = [];
  for (const downS of [0, 5, 60]) restarts.push(await restart(time, watching, downS));
  for (const replica of watching.replicas) replica.stop();
  return { replicas, idleMessages, idleBytes, changes, restarts };
}

async function restart(time: VirtualTime, watching: WatchingFleet, downS: number): Promise<RestartFigures> {
  const { traffic } = watching.link;
  const connectsBefore = traffic.connects.length;
  const readsBefore = traffic.reads.length;
  watching.restart(downS * 1_000);
  const upAt = time.now + downS * 1_000;
  let backAt: number | undefined;
  let silentMs = 0;
  time.every(20, () => {
    if (backAt !== undefined) return;
    const heardFirst = Math.min(...watching.link.heardAt);
    silentMs = Math.max(silentMs, time.now - heardFirst);
    if (heardFirst > upAt) backAt = time.now;
  });
  await time.pass(downS * 1_000 + 10_000);
  const connects = traffic.connects.slice(connectsBefore);
  return {
    downS,
    peakTenth: maxEventsWithin(connects, 100),
    peakSecond: maxEventsWithin(connects, 1_000),
    connects: connects.length,
    backS: ((backAt ?? Number.POSITIVE_INFINITY) - upAt) / 1_000,
    silenceS: silentMs / 1_000,
    reads: traffic.reads.length - readsBefore,
  };
}

/** Maximum number of events within any span of this length. @param times times in ascending order */
export function maxEventsWithin(times: readonly number[], spanMs: number): number {
  let most = 0;
  for (let from = 0, to = 0; to < times.length; to++) {
    while (times[to]! - times[from]! >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
