/** The made-up company of the demo: its applications, the models they call, and what went wrong in the last days. */
import type { NewUsageRecord } from "../../store/ledger/usage-batch.ts";

/** A model with prices in USD per million tokens, near those of the built-in catalogue of 2026-11. */
export interface DemoModel {
  readonly slug: string;
  readonly provider: string;
  readonly input: number;
  readonly output: number;
  /** Tokens of an answer per second. */
  readonly speed: number;
}

const model = (slug: string, provider: string, input: number, output: number, speed: number): DemoModel => ({
  slug,
  provider,
  input,
  output,
  speed,
});

export const smallModel = model("openai/gpt-5-mini", "openai", 0.25, 2, 110);
const nano = model("openai/gpt-5-nano", "openai", 0.05, 0.4, 160);
const sonnet = model("anthropic/claude-sonnet-5", "anthropic", 3, 15, 75);
export const opusModel = model("anthropic/claude-opus-5", "anthropic", 5, 25, 55);
const flash = model("google/gemini-2.5-flash", "google", 0.3, 2.5, 180);
const embedding = model("openai/text-embedding-3-small", "openai", 0.02, 0, 0);

/** An application of the company, which has its own key. */
export interface Application {
  readonly name: string;
  readonly door: NonNullable<NewUsageRecord["door"]>;
  /** The application's models, the most called first. */
  readonly models: readonly DemoModel[];
  /** Number of requests on a working day. */
  readonly requests: number;
  /** Median number of tokens of a prompt and of an answer. */
  readonly tokens: readonly [prompt: number, answer: number];
  /** Share of the prompt that comes from the provider's cache. */
  readonly cached: number;
  /** Number of end users; 0 for a job without any. */
  readonly users: number;
  /** Whether people use it, mostly during the day; a job runs at any hour. */
  readonly isByDay: boolean;
  /** Whether requests carry a session id, as the runs of an agent do. */
  readonly hasSessions: boolean;
  /** Budget of the key in USD a month; absent for none. */
  readonly monthlyLimit?: number;
}

export const applications: readonly Application[] = [
  {
    name: "support-bot",
    door: "chat",
    models: [smallModel, sonnet],
    requests: 130,
    tokens: [1_900, 240],
    cached: 0.6,
    users: 28,
    isByDay: true,
    hasSessions: true,
    monthlyLimit: 60,
  },
  {
    name: "search-ranking",
    door: "chat",
    models: [nano],
    requests: 160,
    tokens: [700, 40],
    cached: 0.3,
    users: 0,
    isByDay: false,
    hasSessions: false,
  },
  {
    name: "coding-agents",
    door: "messages",
    models: [sonnet, opusModel],
    requests: 60,
    tokens: [24_000, 700],
    cached: 0.85,
    users: 9,
    isByDay: true,
    hasSessions: true,
    monthlyLimit: 900,
  },
  {
    name: "translation",
    door: "responses",
    models: [flash, smallModel],
    requests: 45,
    tokens: [1_200, 1_300],
    cached: 0,
    users: 0,
    isByDay: false,
    hasSessions: false,
  },
  {
    name: "nightly-embeddings",
    door: "embeddings",
    models: [embedding],
    requests: 50,
    tokens: [6_000, 0],
    cached: 0,
    users: 0,
    isByDay: false,
    hasSessions: false,
  },
  {
    name: "notebooks-bob",
    door: "responses",
    models: [smallModel, opusModel],
    requests: 12,
    tokens: [3_500, 900],
    cached: 0.1,
    users: 1,
    isByDay: true,
    hasSessions: false,
    monthlyLimit: 250,
  },
];

/** A made-up failure; its begin and end are in hours before now. */
export interface Incident {
  readonly from: number;
  readonly to: number;
}

/** A provider during an outage: most of its requests fail. */
export const outage: Incident & { readonly provider: string } = { provider: "anthropic", from: 124, to: 121 };

/** A notebook that calls the most expensive model in a loop. */
export const runaway: Incident & { readonly application: string; readonly requests: number } = {
  application: "notebooks-bob",
  from: 40,
  to: 33,
  requests: 420,
};

export const guardrailRule = "Payment card";
