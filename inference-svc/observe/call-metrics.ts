/** What is asked of providers, how it ends, and what it takes. Models and providers are those of the house file, so that they are few. */
import { Counter, Histogram, type Registry } from "@sluice/proto/runtime/metrics.js";
import type { Closed, Opened, Tokens } from "../ledger/record.ts";
import type { CallObserver } from "./calls.ts";

/** Those of the contract, and what providers commonly answer with; a provider may answer with any number. */
const statuses: ReadonlySet<number> = new Set([
  200, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 499, 500, 502, 503, 504, 524, 529,
]);

const kinds: Readonly<Record<keyof Tokens, string>> = {
  input: "input",
  cached: "cached",
  cacheWrite: "cache_write",
  output: "output",
  reasoning: "reasoning",
};

type Labels = Pick<Opened, "model" | "provider">;

/** The figures of one model at one provider, bound once: to find a child by its labels costs more than to count. */
interface Series {
  readonly calls: (status: string) => Counter.Internal;
  readonly seconds: Histogram.Internal<"model" | "provider">;
  readonly tokens: readonly (readonly [keyof Tokens, Counter.Internal])[];
  readonly cost: Counter.Internal;
}

export function callMetrics(registry: Registry): CallObserver {
  const open = seriesOf(registry);
  const known = new Map<string, Series>();
  return ({ model, provider }) => {
    const name = `${provider}\n${model}`;
    let series = known.get(name);
    if (!series) known.set(name, (series = open({ model, provider })));
    return { end: noting(series) };
  };
}

const noting =
  ({ calls, seconds, tokens, cost }: Series) =>
  (closed: Closed): void => {
    calls(statuses.has(closed.httpStatus) ? String(closed.httpStatus) : "other").inc();
    seconds.observe(closed.durationMs / 1_000);
    if (closed.tokens) for (const [kind, counter] of tokens) counter.inc(closed.tokens[kind]);
    if (closed.costUsd !== undefined) cost.inc(Number(closed.costUsd));
  };

function seriesOf(registry: Registry): (labels: Labels) => Series {
  const registers = [registry];
  const labelNames = ["model", "provider"] as const;
  const calls = new Counter({
    name: "sluice_attempts_total",
    help: "Calls to providers by the status that they ended with; 499: the client left.",
    labelNames: [...labelNames, "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_attempt_seconds",
    help: "From the call to the end of its answer.",
    labelNames,
    buckets: [0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800],
    registers,
  });
  const tokens = new Counter({
    name: "sluice_tokens_total",
    help: "Tokens by type: input, with cached and cache_write among them; output, with reasoning among them.",
    labelNames: [...labelNames, "type"],
    registers,
  });
  const cost = new Counter({
    name: "sluice_cost_usd_total",
    help: "USD by the prices of the house file. Close to the sums of the ledger, which are exact.",
    labelNames,
    registers,
  });
  return (labels) => {
    const byStatus = new Map<string, Counter.Internal>();
    return {
      calls(status) {
        let child = byStatus.get(status);
        if (!child) byStatus.set(status, (child = calls.labels({ ...labels, status })));
        return child;
      },
      seconds: seconds.labels(labels),
      tokens: Object.entries(kinds).map(([kind, type]) => [kind as keyof Tokens, tokens.labels({ ...labels, type })]),
      cost: cost.labels(labels),
    };
  };
}
