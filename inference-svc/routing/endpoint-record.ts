/** What this process has seen of its endpoints lately: how fast they are, and whether they fail. */
import type { Endpoint } from "./catalog.ts";
import { RecentPercentiles } from "./percentiles.ts";
import { RollingCounts } from "./rolling-counts.ts";
import { WarmEndpoints } from "./warm.ts";

/** An outage: that many failures, and that share of the attempts, within the last 30 seconds. */
const outageFailures = 3;
const outageShare = 0.2;
const outageSlots = 30;
const outageSlotMs = 1_000;
/** So often somebody tries an endpoint in an outage all the same. */
const probeMs = 5_000;

const wentWell = 0;
const failed = 1;

export class EndpointRecord {
  /** Seconds until the first token. */
  readonly latency = new RecentPercentiles();
  /** Tokens per second after it. */
  readonly throughput = new RecentPercentiles();
  readonly #attempts = new RollingCounts(2, outageSlots, outageSlotMs);
  #probedAt = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds */
  attempt(well: boolean, now: number): void {
    this.#attempts.add(well ? wentWell : failed, now);
  }

  /** Within the last 30 seconds. */
  asked(now: number): boolean {
    return this.#attempts.sum(now).some((count) => count > 0);
  }

  inOutage(now: number): boolean {
    const attempts = this.#attempts.sum(now);
    const failures = attempts[failed]!;
    return failures >= outageFailures && failures >= outageShare * (failures + attempts[wentWell]!);
  }

  /** Whether the asker is to be the one that tries it: true once in five seconds. */
  probe(now: number): boolean {
    if (now - this.#probedAt < probeMs) return false;
    this.#probedAt = now;
    return true;
  }
}

export class EndpointRecords {
  readonly #byEndpoint = new WeakMap<Endpoint, EndpointRecord>();
  readonly warm = new WarmEndpoints();
  /** Milliseconds. */
  readonly now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Undefined while nothing was seen of it. */
  find(endpoint: Endpoint): EndpointRecord | undefined {
    return this.#byEndpoint.get(endpoint);
  }

  /** What was seen of one endpoint is seen of the other from now on: the same offer, described anew. */
  pass(from: Endpoint, to: Endpoint): void {
    const record = this.#byEndpoint.get(from);
    if (record) this.#byEndpoint.set(to, record);
  }

  of(endpoint: Endpoint): EndpointRecord {
    let record = this.#byEndpoint.get(endpoint);
    if (record === undefined) this.#byEndpoint.set(endpoint, (record = new EndpointRecord()));
    return record;
  }
}
