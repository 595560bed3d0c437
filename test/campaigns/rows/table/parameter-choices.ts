/** SPEC 2.1: choice of tools, service tiers and providers, and where an answer stops. */
import type { Row, RowCase, RowDialect } from "../row.ts";
import { exampleFunction } from "./asks.ts";

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name: `2.1 ${name}`, cases });

const choices: readonly Row[] = (
  [
    ["auto", {}],
    [
      "none",
      {
        chat: { tool_choice: "none" },
        responses: { tool_choice: "none" },
        messages: { tool_choice: { type: "none" } },
      },
    ],
    [
      "required",
      {
        chat: { tool_choice: "required" },
        responses: { tool_choice: "required" },
        messages: { tool_choice: { type: "any" } },
        gemini: { toolConfig: { functionCallingConfig: { mode: "ANY" } } },
        converse: { toolConfig: { toolChoice: { any: {} } } },
      },
    ],
    [
      { type: "function", name: "f" },
      {
        chat: { tool_choice: { function: { name: "f" } } },
        responses: { tool_choice: { name: "f" } },
        messages: { tool_choice: { type: "tool", name: "f" } },
        gemini: { toolConfig: { functionCallingConfig: { allowedFunctionNames: ["f"] } } },
        converse: { toolConfig: { toolChoice: { tool: { name: "f" } } } },
      },
    ],
    [{ type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "f" }] }, {}],
    [{ type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "f" }] }, {}],
  ] satisfies [unknown, Partial<Record<RowDialect, unknown>>][]
).map(([choice, sentBy]) =>
  row(`tool_choice ${typeof choice === "string" ? choice : JSON.stringify(choice)}`, {
    ask: { tools: [exampleFunction], tool_choice: choice },
    sentBy,
    back: { tool_choice: choice },
  }),
);

const tiers: readonly Row[] = ["auto", "default", "fast", "flex", "priority", "scale", "ultrafast", null].map((tier) =>
  row(`service_tier ${tier}`, {
    ask: { service_tier: tier },
    on: ["chat", "responses"],
    back: { status: "completed" },
  }),
);

const stops: readonly Row[] = [
  { type: "step_count_is", step_count: 1 },
  { type: "has_tool_call", tool_name: "service_datetime" },
  { type: "max_tokens_used", max_tokens: 1 },
  { type: "max_cost", max_cost_in_dollars: 0.000001 },
  { type: "finish_reason_is", reason: "tool_calls" },
].map((condition) =>
  row(`stop_server_tools_when ${condition.type}`, {
    ask: { tools: [{ type: "service:datetime" }], stop_server_tools_when: [condition] },
    says: [{ calls: [{ name: "service_datetime", args: {} }] }, { text: "Done" }],
    back: { status: "completed", output: [{ type: "message" }] },
  }),
);

const preferences: readonly Row[] = (
  [
    ["order", ["chat"], 200],
    ["only", ["chat"], 200],
    ["only", ["nobody"], 404],
    ["ignore", ["nobody"], 200],
    ["ignore", ["chat"], 404],
    ["allow_fallbacks", false, 200],
    ["require_parameters", true, 200],
    ["data_collection", "allow", 200],
    ["data_collection", "deny", 404],
    ["zdr", true, 404],
    ["zdr", false, 200],
    ["enforce_distillable_text", true, 404],
    ["quantizations", ["unknown"], 200],
    ["quantizations", ["fp8"], 404],
    ["sort", "price", 200],
    ["sort", { by: "throughput", partition: "none" }, 200],
    ["max_price", { prompt: "5", completion: 5 }, 200],
    ["max_price", { prompt: "0.5" }, 404],
    ["preferred_min_throughput", 5, 200],
    ["preferred_min_throughput", { p90: 5 }, 200],
    ["preferred_max_latency", 5, 200],
    ["preferred_max_latency", { p50: 1, p99: 5 }, 200],
    ["unheard_of", 1, 400],
    ["sort", "luck", 400],
    ["data_collection", "maybe", 400],
    ["quantizations", ["fp3"], 400],
  ] satisfies [string, unknown, number][]
).map(([name, value, status]) => ({
  name: `A.2 provider.${name} ${JSON.stringify(value)}`,
  cases: [
    {
      ask: { provider: { [name]: value } },
      on: ["chat"],
      ...(status === 200 ? { back: { status: "completed" } } : { refused: [status, /\w/] as const }),
    },
  ],
}));

export const choiceRows: readonly Row[] = [...choices, ...tiers, ...stops, ...preferences];
