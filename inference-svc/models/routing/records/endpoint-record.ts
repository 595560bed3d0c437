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
/** Longest pause between two steps of one task; after a longer pause the best model is chosen anew. */
const stickyModelMs = 300_000;

export class EndpointRecord {
  /** Seconds until the first token. */
  readonly latency = new RecentPercentiles();
  /** Tokens per second after the first token of an answer. */
  readonly throughput = new RecentPercentiles();
  readonly toolCalls = new ToolCallSuccess();
  readonly ejection: Ejection;
  readonly budget = new RetryBudget();

  /** @param changed as for `Ejection` */
  constructor(changed?: (failing: boolean) => void) {
    this.ejection = new Ejection(changed);
  }
}

export class EndpointRecords {
  readonly #byEndpoint = new WeakMap<Endpoint, EndpointRecord>();
  /** Endpoints with a session's cache, by their seeds: seeds survive a reload of the configuration. */
  readonly stickyEndpoints = new StickySessions<Seed>(stickyEndpointMs);
  /** Models chosen for a session, by their slugs. */
  readonly stickyModels = new StickySessions<string>(stickyModelMs);
  readonly tokenMix = new TokenMix();
  /** The last sums from admin-svc, over the calls of all processes. */
  readonly taskSpending = new TaskSpending();
  /** Current time in milliseconds. */
  readonly now: () => number;
  #changed: (endpoint: Endpoint, failing: boolean) => void = () => {};

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Calls the listener when attempts of this process show that an endpoint fails, or answers again. */
  onChange(listener: (endpoint: Endpoint, failing: boolean) => void): void {
    this.#changed = listener;
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
    if (record !== undefined) return record;
    record = new EndpointRecord((failing) => this.#changed(endpoint, failing));
    this.#byEndpoint.set(endpoint, record);
    return record;
  }
}
