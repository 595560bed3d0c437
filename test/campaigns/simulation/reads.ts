/**
 * How often processes read keys at admin-svc: while their caches fill, once these are full, and after a change of every key. Every request needs one
 * key, and some keys are much more frequent than others (Zipf's law). One replica stands for all of them, with its full request rate and all keys;
 * admin-svc then has one replica's share of its speed.
 */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { WatchingFleet, maxEventsWithin } from "./fan-out.ts";
import { Random } from "../../support/random.ts";
import type { Size } from "./size.ts";
import type { VirtualTime } from "./virtual-time.ts";

/**
 * Single-key calls per second that all admin-svc processes together can answer, per request: 20,000 calls by twenty processes at 100,000 requests
 * (`node test/dist/campaigns/bench/key-reads.js`).
 */
const callsPerRequest = 0.2;
export const fleetCallsPerSecond = ({ readRequestsPerSecond }: Size): number => callsPerRequest * readRequestsPerSecond;
const spanS = 60;
/** Number of waiting calls from which admin-svc counts as saturated. */
const saturatedCalls = 10;

export interface ReadFigures {
  readonly name: string;
  /** Keys read per second by all replicas of the fleet: the mean, and the busiest second. */
  readonly reads: number;
  readonly readsPeak: number;
  /** Lookup calls per second, and their bytes with those of their answers, without guardrails. */
  readonly calls: number;
  readonly bytes: number;
  /** Share of time in which admin-svc reads keys, and seconds with ten or more waiting calls. */
  readonly busy: number;
  readonly saturatedS: number;
  /** Share of the requests that a lookup delayed, and the longest wait. */
  readonly waited: number;
  readonly longestMs: number;
  readonly failed: number;
  /** Share of the requests served on a policy that was known to be outdated. */
  readonly superseded: number;
}

export async function simulateReads(time: VirtualTime, seed: number, size: Size): Promise<readonly ReadFigures[]> {
  const random = new Random(seed);
  const share = 1 / size.replicas;
  const watching = new WatchingFleet(time, random, 1, fleetCallsPerSecond(size) * share);
  await time.pass(2_000);
  const rate = size.readRequestsPerSecond * share;
  const pick = zipf(random, size.keys);
  const during = async (name: string, seconds: number): Promise<ReadFigures> => {
    const readings = new Readings(time, random, watching.replicas, rate, pick);
    const load = watching.link.measureLoad(saturatedCalls);
    const before = { ...watching.link.traffic, reads: watching.link.traffic.reads.length };
    await time.pass(seconds * 1_000);
    readings.end();
    const { reads, calls, readBytes } = watching.link.traffic;
    return {
      name,
      ...readings.figures(reads.slice(before.reads), seconds, share),
      calls: (calls - before.calls) / seconds / share,
      bytes: (readBytes - before.readBytes) / seconds / share,
      ...load(),
    };
  };
  const empty = await during("empty caches", spanS);
  await during("caches fill", size.fillS);
  const filled = await during(`${(spanS + size.fillS) / 60} min later`, spanS);
  void watching.change(null);
  const changed = await during("every key changed", spanS);
  for (const replica of watching.replicas) replica.stop();
  return [empty, filled, changed];
}

/** Draws keys; the n-th key is drawn 1/n times as often as the first. */
function zipf(random: Random, keys: number): () => number {
  const sums: number[] = [];
  for (let key = 0, sum = 0; key < keys; key++) sums.push((sum += 1 / (key + 1)));
  const total = sums.at(-1)!;
  return () => {
    const target = random.next() * total;
    let low = 0;
    for (let high = keys - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if (sums[middle]! < target) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

class Readings {
  readonly #time: VirtualTime;
  #isOver = false;
  #requests = 0;
  #waited = 0;
  #longestMs = 0;
  #failed = 0;
  #superseded = 0;

  constructor(time: VirtualTime, random: Random, replicas: readonly Access[], rate: number, pick: () => number) {
    this.#time = time;
    const next = (): void => {
      time.after(random.exponential(1_000 / rate), () => {
        if (this.#isOver) return;
        this.#ask(replicas[random.below(replicas.length)]!, `key-${pick()}`);
        next();
      });
    };
    next();
  }

  end(): void {
    this.#isOver = true;
  }

  #ask(replica: Access, keyHash: string): void {
    this.#requests++;
    const found = replica.resolve(keyHash);
    if (!(found instanceof Promise)) return;
    const askedAt = this.#time.now;
    this.#waited++;
    found
      .then(({ isSuperseded }) => void (this.#superseded += Number(isSuperseded)))
      .catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error;
        this.#failed++;
      })
      .finally(() => (this.#longestMs = Math.max(this.#longestMs, this.#time.now - askedAt)));
  }

  figures(reads: readonly number[], seconds: number, share: number) {
    return {
      reads: reads.length / seconds / share,
      readsPeak: maxEventsWithin(reads, 1_000) / share,
      waited: this.#waited / this.#requests,
      longestMs: this.#longestMs,
      failed: this.#failed / this.#requests,
      superseded: this.#superseded / this.#requests,
    };
  }
}
