/** This process's recent observations of its endpoints: speed, tool calls and failures. */
import type { Endpoint } from "../catalog.ts";
import { Ejection } from "../attempt/ejection.ts";
import { TaskSpending } from "./task-spending.ts";
import { TokenMix } from "./token-mix.ts";
import { ToolCallSuccess } from "./tool-calls.ts";
import { RecentPercentiles } from "./percentiles.ts";
import { RetryBudget } from "../attempt/retry-budget.ts";
import type { Seed } from "../choose/rendezvous.ts";
import { StickySessions } from "../choose/sticky-sessions.ts";

/** Milliseconds for which a session keeps its endpoint after its last request, about as long as providers keep a cache. */
const stickyEndpointMs = 600_000;
/**
 * Milliseconds for which a session keeps its model: the longest pause between two steps of one task. After it, the best
 * model is chosen anew.
 */
const stickyModelMs = 300_000;

export class EndpointRecord {
  /** Seconds until the first token. */
  readonly latency = new RecentPercentiles();
  /** Tokens per second after the first token of an answer. */
  readonly throughput = new RecentPercentiles();
  readonly toolCalls = new ToolCallSuccess();
  readonly ejection: Ejection;
  readonly budget = new RetryBudget();

  /** @param changed called when the endpoint fails, or answers again: see `Ejection` */
  constructor(changed?: (failing: boolean) => void) {
    this.ejection = new Ejection(changed);
  }
}

export class EndpointRecords {
  readonly #byEndpoint = new WeakMap<Endpoint, EndpointRecord>();
  /** For each session, the endpoint that has it in its cache, by the endpoint's seed: seeds survive a reload of the configuration. */
  readonly stickyEndpoints = new StickySessions<Seed>(stickyEndpointMs);
  /** For each session, the slug of the chosen model. */
  readonly stickyModels = new StickySessions<string>(stickyModelMs);
  readonly tokenMix = new TokenMix();
  /** The spending by task admin-svc reported last, for the calls of all processes. */
  readonly taskSpending = new TaskSpending();
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  #changed: (endpoint: Endpoint, failing: boolean) => void = () => {};

  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Calls the listener when attempts of this process show that an endpoint fails, or answers again. */
  onChange(listener: (endpoint: Endpoint, failing: boolean) => void): void {
    this.#changed = listener;
  }

  /** The record of an endpoint. @returns undefined before its first call */
  find(endpoint: Endpoint): EndpointRecord | undefined {
    return this.#byEndpoint.get(endpoint);
  }

  /** Gives an endpoint's record to the same endpoint of a reloaded configuration. */
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
