/** Measures of the explorer: those that each tab draws, and those in the columns of its table. */
import type { Schemas } from "../api/client.ts";
import { formatCount, formatDollars, formatMilliseconds, formatPercent } from "../parts/words.ts";
import type { ExplorerTab } from "./address.ts";

export type Total = Schemas["UsageTotal"];
export type Point = Schemas["UsagePoint"];

/** Sums over requests, without the value to which they belong. */
export type Sums = Omit<Total, "value" | "name" | "is_other" | "second" | "second_name">;

export interface Measure {
  readonly id: string;
  readonly title: string;
  /** The measure's value; null if unknown. */
  readonly of: (sums: Sums) => number | null;
  readonly format: (value: number) => string;
  /** Whether the values of several steps can be added up; a percentile, for example, cannot. */
  readonly adds: boolean;
}

const added = (id: string, title: string, of: (sums: Sums) => number, format = formatCount): Measure => ({
  id,
  title,
  of,
  format,
  adds: true,
});

const percentile = (id: keyof Sums & `${string}_p${string}`, title: string): Measure => ({
  id,
  title,
  of: (sums) => sums[id],
  format: formatMilliseconds,
  adds: false,
});

const ratio = (id: string, title: string, of: (sums: Sums) => number, format: (value: number) => string): Measure => ({
  id,
  title,
  of: (sums) => (sums.requests === 0 ? null : of(sums) / sums.requests),
  format,
  adds: false,
});

export const cost = added("cost", "Cost", ({ cost_usd: usd }) => Number(usd), formatDollars);
const requests = added("requests", "Requests", (sums) => sums.requests);
const failures = added("failures", "Failures", (sums) => sums.failures);
const failureRate = ratio("failure_rate", "Failure rate", (sums) => sums.failures, formatPercent);
const tokens = added("tokens", "Tokens", (sums) => sums.input_tokens + sums.output_tokens);
const input = added("input", "Input", (sums) => sums.input_tokens);
const cached = added("cached", "Cached", (sums) => sums.cached_tokens);
const output = added("output", "Output", (sums) => sums.output_tokens);
const reasoning = added("reasoning", "Reasoning", (sums) => sums.reasoning_tokens);
const costEach = ratio("cost_each", "Cost per request", (sums) => Number(sums.cost_usd), formatDollars);
const tokensEach = ratio(
  "tokens_each",
  "Tokens per request",
  (sums) => sums.input_tokens + sums.output_tokens,
  (value) => formatCount(Math.round(value)),
);
const latencies = [
  percentile("first_token_ms_p50", "First token p50"),
  percentile("first_token_ms_p95", "First token p95"),
  percentile("duration_ms_p50", "Whole answer p50"),
  percentile("duration_ms_p95", "Whole answer p95"),
];

/** Every measure, in the order of the list of columns to choose from. */
export const measures: readonly Measure[] = [
  cost,
  requests,
  failures,
  failureRate,
  tokens,
  input,
  cached,
  output,
  reasoning,
  costEach,
  tokensEach,
  ...latencies,
];

interface TabFigures {
  /** Measures that the chart can draw, the default one first. */
  readonly drawn: readonly Measure[];
  /** Columns of the table besides the drawn measure and its change. */
  readonly columns: readonly Measure[];
}

export const figuresOf: Readonly<Record<ExplorerTab, TabFigures>> = {
  spend: { drawn: [cost], columns: [requests, costEach, tokensEach] },
  requests: { drawn: [requests], columns: [failures, failureRate, cost] },
  errors: { drawn: [failures], columns: [failureRate, requests] },
  latency: { drawn: latencies, columns: [...latencies, requests] },
  tokens: {
    drawn: [tokens, input, cached, output, reasoning],
    columns: [input, cached, output, reasoning, tokensEach],
  },
};

export const drawnMeasure = (tab: ExplorerTab, id: string): Measure =>
  figuresOf[tab].drawn.find((measure) => measure.id === id) ?? (figuresOf[tab].drawn[0] as Measure);
