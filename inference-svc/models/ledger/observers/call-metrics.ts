/**
 * Metrics of calls to providers: number, outcome and duration. Models and providers come from the configuration file,
 * so the label values are few.
 */
import {
  Counter,
  type CounterSeries,
  Histogram,
  type HistogramSeries,
  type Registry,
} from "@sluice/proto/lib/metrics/metrics.js";
import type { CallEnd, CallStart, Tokens } from "../record.ts";
import type { CallObserver, ObservedCall } from "./observed-calls.ts";

/**
 * HTTP statuses of Sluice's API, and statuses common among providers. Any other is counted as `other`, because a
 * provider may send any number.
 */
const statuses: ReadonlySet<number> = new Set([
  200, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 499, 500, 502, 503, 504, 524, 529,
]);

export function callMetrics(registry: Registry): CallObserver {
  const metrics = new CallMetrics(registry);
  const known = new Map<string, Map<string, Map<string, PurposeMetrics>>>();
  return ({ model, provider, operation, payer }) => {
    let models = known.get(provider);
    if (models === undefined) known.set(provider, (models = new Map()));
    let purposes = models.get(model);
    if (purposes === undefined) models.set(model, (purposes = new Map()));
    const purpose = payer === "key" ? operation : `${operation} ${payer}`;
    let series = purposes.get(purpose);
    if (series === undefined) {
      purposes.set(purpose, (series = new PurposeMetrics(metrics, { model, provider, operation, payer })));
    }
    return series;
  };
}

type Labels = Pick<CallStart, "model" | "provider" | "operation" | "payer">;

class CallMetrics {
  readonly calls: Counter<"model" | "provider" | "operation" | "status">;
  readonly seconds: Histogram<"model" | "provider" | "operation">;
  readonly tokens: Counter<"model" | "provider" | "operation" | "type">;
  readonly cost: Counter<"model" | "provider" | "operation" | "payer">;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ["model", "provider", "operation"] as const;
    this.calls = new Counter({
      name: "sluice_attempts_total",
      help: "Calls to providers by their final status; 499: the client left.",
      labelNames: [...labelNames, "status"],
      registers,
    });
    this.seconds = new Histogram({
      name: "sluice_attempt_seconds",
      help: "Seconds from the start of a call to a provider to the end of its answer.",
      labelNames,
      buckets: [0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800],
      registers,
    });
    this.tokens = new Counter({
      name: "sluice_tokens_total",
      help: "Tokens by type: input, with cached and cache_write among them; output, with reasoning among them.",
      labelNames: [...labelNames, "type"],
      registers,
    });
    this.cost = new Counter({
      name: "sluice_cost_usd_total",
      help: "USD by the prices of the configuration file and by payer, key or operator. Close to the sums of the ledger, which are exact.",
      labelNames: [...labelNames, "payer"],
      registers,
    });
  }
}

/** The metric series of one purpose, model and provider, looked up once for all their calls. */
class PurposeMetrics implements ObservedCall {
  readonly #metrics: CallMetrics;
  readonly #labels: Omit<Labels, "payer">;
  /** Counters of calls, by the final status. */
  readonly #calls = new Map<string, CounterSeries>();
  readonly #seconds: HistogramSeries;
  readonly #tokens: Readonly<Record<keyof Tokens, CounterSeries>>;
  readonly #cost: CounterSeries;

  constructor(metrics: CallMetrics, { payer, ...labels }: Labels) {
    const tokens = (type: string) => metrics.tokens.labels({ ...labels, type });
    this.#metrics = metrics;
    this.#labels = labels;
    this.#seconds = metrics.seconds.labels(labels);
    this.#tokens = {
      input: tokens("input"),
      cached: tokens("cached"),
      cacheWrite: tokens("cache_write"),
      output: tokens("output"),
      reasoning: tokens("reasoning"),
    };
    this.#cost = metrics.cost.labels({ ...labels, payer });
  }

  end({ httpStatus, durationMs, tokens, costUsd }: CallEnd): void {
    const status = statuses.has(httpStatus) ? String(httpStatus) : "other";
    let calls = this.#calls.get(status);
    if (calls === undefined) {
      this.#calls.set(status, (calls = this.#metrics.calls.labels({ ...this.#labels, status })));
    }
    calls.inc();
    this.#seconds.observe(durationMs / 1_000);
    if (tokens) {
      const series = this.#tokens;
      series.input.inc(tokens.input);
      series.cached.inc(tokens.cached);
      series.cacheWrite.inc(tokens.cacheWrite);
      series.output.inc(tokens.output);
      series.reasoning.inc(tokens.reasoning);
    }
    if (costUsd !== undefined) this.#cost.inc(Number(costUsd));
  }
}
