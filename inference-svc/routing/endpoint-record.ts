/** What this process has seen of its endpoints lately: how fast they are, and whether they fail. */
import type { Endpoint } from "./catalog.ts";
import { Ejection } from "./ejection.ts";
import { RecentPercentiles } from "./percentiles.ts";
import { RetryBudget } from "./retry-budget.ts";
import type { Seed } from "./rendezvous.ts";
import { Stays } from "./stays.ts";

/** About as long as providers keep a cache. */
const warmMs = 600_000;
/** As long as a task may wait for its next step: then what is best is asked anew. */
const chosenMs = 300_000;

export class EndpointRecord {
  /** Seconds until the first token. */
  readonly latency = new RecentPercentiles();
  /** Tokens per second after it. */
  readonly throughput = new RecentPercentiles();
  readonly ejection = new Ejection();
  readonly budget = new RetryBudget();
}

export class EndpointRecords {
  readonly #byEndpoint = new WeakMap<Endpoint, EndpointRecord>();
  /** Endpoints that a session has a cache at, by what they draw with: that stays when the configuration is read anew. */
  readonly warm = new Stays<Seed>(warmMs);
  /** Models that a router has chosen for a session, by slug. */
  readonly chosen = new Stays<string>(chosenMs);
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
