/** This process's recent observations of its endpoints: their speed, their tool calls and their failures. */
import type { Endpoint } from "../catalog.ts";
import { Ejection } from "../attempt/ejection.ts";
import { TaskSpending } from "./task-spending.ts";
import { TokenMix } from "./token-mix.ts";
import { ToolCallSuccess } from "./tool-calls.ts";
import { RecentPercentiles } from "./percentiles.ts";
import { RetryBudget } from "../attempt/retry-budget.ts";
import type { Seed } from "../choose/rendezvous.ts";
import { StickySessions } from "../choose/sticky-sessions.ts";

/** About as long as providers keep a cache. */
const stickyEndpointMs = 600_000;
/** Longest pause between two steps of one task; after a longer one the best model is chosen anew. */
const stickyModelMs = 300_000;

export class EndpointRecord {
  /** Seconds until the first token. */
  readonly latency = new RecentPercentiles();
  /** Tokens per second after the first one. */
  readonly throughput = new RecentPercentiles();
  readonly toolCalls = new ToolCallSuccess();
  readonly ejection = new Ejection();
  readonly budget = new RetryBudget();
}

export class EndpointRecords {
  readonly #byEndpoint = new WeakMap<Endpoint, EndpointRecord>();
  /** Endpoints that hold a session's cache, by their seeds: seeds stay the same when the configuration is reloaded. */
  readonly stickyEndpoints = new StickySessions<Seed>(stickyEndpointMs);
  /** Models that were chosen for a session, by their slugs. */
  readonly stickyModels = new StickySessions<string>(stickyModelMs);
  readonly tokenMix = new TokenMix();
  /** The last sums that admin-svc gave, over the calls of all processes. */
  readonly taskSpending = new TaskSpending();
  /** Current time in milliseconds. */
  readonly now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** The record of an endpoint; undefined before its first call. */
  find(endpoint: Endpoint): EndpointRecord | undefined {
    return this.#byEndpoint.get(endpoint);
  }

  /** Gives the record of an endpoint to the same endpoint of a reloaded configuration. */
  carryOver(from: Endpoint, to: Endpoint): void {
    const record = this.#byEndpoint.get(from);
    if (record) this.#byEndpoint.set(to, record);
  }

  get(endpoint: Endpoint): EndpointRecord {
    let record = this.#byEndpoint.get(endpoint);
    if (record === undefined) this.#byEndpoint.set(endpoint, (record = new EndpointRecord()));
    return record;
  }
}
