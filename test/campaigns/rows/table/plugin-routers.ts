/** SPEC 2.2: settings of the routing plugins, their limits, and their effects. */
import type { Row } from "../row.ts";
import { greetingMessage, requestWithPlugin, expectStage } from "./asks.ts";
import { textOfLength, distinctWords, pluginLimits, pluginRow } from "./plugin-asks.ts";

const autoRouters: readonly Row[] = ["auto-router", "auto-beta-router"].flatMap((id) => {
  const on = id === "auto-router" ? "service/auto" : "service/auto-beta";
  const tier = (cost_tier: string, model: RegExp) =>
    pluginRow(id, `cost_tier ${cost_tier}`, {
      ask: requestWithPlugin(id, { cost_tier, allowed_models: ["r*/*"] }),
      on: [on],
      back: { model },
    });
  return [
    pluginLimits(
      id,
      "allowed_models",
      [["r*/*"], [...distinctWords(1_023), "r*/*"]],
      [distinctWords(1_025), [textOfLength(1_025)], distinctWords(65, textOfLength(1_020)), "a"],
      { on },
    ),
    pluginLimits(
      id,
      "excluded_models",
      [["t/*"], distinctWords(1_024)],
      [distinctWords(1_025), [textOfLength(1_025)], "a"],
      { on },
    ),
    pluginLimits(id, "cost_tier", ["low", "medium", "high", "xhigh", "max"], ["huge"], { on }),
    pluginLimits(id, "cost_quality_tradeoff", [0, 10], [-1, 11, 0.5], { on }),
    pluginLimits(id, "enabled", [true, false], ["yes"], { on }),
    tier("low", /^r\d\/m[01]$/),
    tier("medium", /^r\d\/m[23]$/),
    tier("high", /^r\d\/m[45]$/),
    tier("xhigh", /^r\d\/m[67]$/),
    tier("max", /^r\d\/m[89]$/),
    pluginRow(id, "cost_quality_tradeoff 10 is cheap", {
      ask: requestWithPlugin(id, { cost_quality_tradeoff: 10, allowed_models: ["r*/*"] }),
      on: [on],
      back: { model: /m[01]$/ },
    }),
    pluginRow(id, "cost_quality_tradeoff 0 is dear", {
      ask: requestWithPlugin(id, { cost_quality_tradeoff: 0, allowed_models: ["r*/*"] }),
      on: [on],
      back: { model: /m[78]$/ },
    }),
    pluginRow(id, "allowed_models", {
      ask: requestWithPlugin(id, { allowed_models: ["r3/*"] }),
      on: [on],
      back: { model: "r3/m3" },
    }),
    pluginRow(id, "excluded_models wins", {
      ask: requestWithPlugin(id, { allowed_models: ["r3/*"], excluded_models: ["r3/m3"] }),
      on: [on],
      refused: [404, /\w/],
    }),
    pluginRow(id, "receipt", {
      on: [on],
      back: { service_metadata: { strategy: "auto", pipeline: [{ type: "plugin", name: id }] } },
    }),
  ];
});

const others: readonly Row[] = [
  pluginLimits("auto-router", "pin_model", [true, false], ["yes"], { on: "service/auto" }),
  pluginRow("auto-router", "pin_model keeps the model of the last answer", {
    ask: {
      input: [
        greetingMessage,
        {
          type: "message",
          id: "msg_1",
          role: "assistant",
          status: "completed",
          model: "r7/m7",
          content: [{ type: "output_text", text: "Hello", annotations: [] }],
        },
        greetingMessage,
      ],
      ...requestWithPlugin("auto-router", { pin_model: true }),
    },
    on: ["service/auto"],
    back: { model: "r7/m7" },
  }),
  pluginLimits("jev-router", "cost_tier", ["low", "medium", "high"], ["xhigh", "max", "huge"], {
    on: "service/jev-router",
  }),
  pluginLimits("jev-router", "models", [["r*/*"]], [distinctWords(1_025), "a"], { on: "service/jev-router" }),
  pluginLimits("jev-router", "allowed_models", [["r*/*"]], [distinctWords(1_025), "a"], { on: "service/jev-router" }),
  pluginLimits("jev-router", "excluded_models", [["t/*"]], [distinctWords(1_025), "a"], { on: "service/jev-router" }),
  pluginLimits("jev-router", "unheard_of", [], [1], { on: "service/jev-router" }),
  pluginRow("jev-router", "receipt", { on: ["service/jev-router"], back: expectStage("jev-router") }),
  pluginRow("jev-router", "reasoning.max_tokens", {
    ask: { reasoning: { max_tokens: 2_000 } },
    on: ["service/jev-router"],
    refused: [400, /max_tokens/],
  }),
  pluginRow("jev-router", "reasoning.mode pro", {
    ask: { reasoning: { mode: "pro" } },
    on: ["service/jev-router"],
    refused: [400, /mode/],
  }),
  pluginRow("jev-router", "excluded_models leaves nothing", {
    ask: requestWithPlugin("jev-router", { excluded_models: ["*"] }),
    on: ["service/jev-router"],
    refused: [404, /\w/],
  }),
  pluginLimits("pareto-router", "min_coding_score", [0, 1], [-0.1, 1.1], { on: "service/pareto-code" }),
  pluginLimits("pareto-router", "max_price", [5], [-1, "a"], { on: "service/pareto-code" }),
  pluginLimits("pareto-router", "price_source", ["prompt", "weighted_avg"], ["luck"], { on: "service/pareto-code" }),
  pluginLimits("pareto-router", "enabled", [true], ["yes"], { on: "service/pareto-code" }),
  pluginRow("pareto-router", "max_price", {
    ask: requestWithPlugin("pareto-router", { max_price: 1 }),
    on: ["service/pareto-code"],
    back: { model: /m[0-3]$/ },
  }),
  pluginRow("pareto-router", "max_price below every price", {
    ask: requestWithPlugin("pareto-router", { max_price: 0.00001 }),
    on: ["service/pareto-code"],
    refused: [404, /\w/],
  }),
  pluginRow("pareto-router", "strategy", {
    on: ["service/pareto-code"],
    back: { service_metadata: { strategy: "pareto" } },
  }),
  ...["capability", "stage", "auto", "random", "composite", "passthrough"].map((algorithm) =>
    pluginRow("switchyard-router", `algorithm ${algorithm}`, {
      ask: { ...requestWithPlugin("switchyard-router", { algorithm }), models: ["r1/m1", "r9/m9"] },
      on: ["service/switchyard"],
      otherSays: [
        { text: JSON.stringify({ crux: "", primary_rule: "S1", capability_boundary: "supported", p_solve: 0.9 }) },
      ],
      back: { model: /^r[19]\// },
    }),
  ),
  pluginLimits("switchyard-router", "algorithm", ["random"], ["luck"], {
    on: "service/switchyard",
    ask: { models: ["r1/m1", "r9/m9"] },
  }),
];

export const routerRows: readonly Row[] = [...autoRouters, ...others];
