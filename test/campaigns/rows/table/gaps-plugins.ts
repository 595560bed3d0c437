/** Rows of routers, of fusion and of the plugin web with earlier failures. */
import type { Row } from "../row.ts";
import { requestWithPlugin, servicesOrigin, expectStage } from "./asks.ts";

const hard =
  "Prove that every finite group of odd order is solvable for orders below 100, and give each step of the proof with the theorems it uses.";
const cup = { input: "Who won the cup?" };

/** Prompts, each with the class that a person has given it. */
const labelled: readonly (readonly [string, string])[] = [
  ["Write a Python function that merges two sorted lists.", "code"],
  ["Fix the race condition in our Go worker pool: two goroutines write to the map.", "code"],
  ["Solve 3x^2 - 12x + 9 = 0 and show the steps.", "math"],
  ["Translate 'Where is the station?' into French and German.", "translate"],
  ["Write a short poem about the sea in autumn.", "write"],
  ["Summarise the following report in three sentences: sales rose by ten percent in the spring.", "document"],
];

export const pluginGaps: readonly Row[] = [
  {
    name: "13 auto-router without settings: easy against hard prompts",
    cases: [
      { ask: { input: "Say hello." }, on: ["service/auto"], back: { model: /^r\d\/m[0-5]$/ } },
      { ask: { input: hard }, on: ["service/auto"], back: { model: /^r\d\/m[6-9]$/ } },
    ],
  },
  {
    name: "13 auto-router: rankings of models",
    cases: [
      {
        ask: requestWithPlugin("auto-router", { cost_tier: "max" }),
        on: ["service/auto"],
        back: { model: /^r\d\/m[89]$/ },
      },
      {
        ask: requestWithPlugin("auto-router", { cost_tier: "low" }),
        on: ["service/auto"],
        back: { model: /^r\d\/m[01]$/ },
      },
    ],
  },
  {
    name: "13 auto-router: task classifier, own 75 prompts",
    // Without a model, a third of such prompts is classified wrongly.
    now: "part",
    cases: labelled.map(([input, task]) => ({
      ask: { input },
      on: ["service/auto"],
      back: expectStage("auto-router", { task_type: new RegExp(task) }),
    })),
  },
  {
    name: "13 jev-router: local difficulty, own 16 easy + 16 hard prompts",
    cases: [
      { ask: { input: "Say hello." }, on: ["service/jev-router"], back: { model: /^r\d\/m[0-3]$/ } },
      { ask: { input: hard }, on: ["service/jev-router"], back: { model: /^(r\d\/m[4-9]|t\/converse)$/ } },
    ],
  },
  {
    name: "13 fusion: default preset",
    cases: [{ ask: cup, on: ["service/fusion"], bare: true, back: { status: "completed" } }],
  },
  {
    name: "13 fusion: presets of the configuration file",
    cases: [
      ...["general-high", "general-budget", "general-fast"].map((preset) => ({
        ask: { ...cup, ...requestWithPlugin("fusion", { preset }) },
        on: ["service/fusion"],
        back: { status: "completed" },
      })),
      {
        ask: { ...cup, ...requestWithPlugin("fusion", { preset: "general-fast" }) },
        on: ["service/fusion"],
        bare: true,
        refused: [400, /fusion\.presets\.general-fast/],
      },
    ],
  },
  {
    name: "13 pareto-router: out of the box",
    cases: [{ ask: cup, on: ["service/pareto-code"], back: { model: /^r\d\/m/ } }],
  },
  {
    name: "13 pareto-router: price_source weighted_avg",
    cases: [
      // The usual mix of tokens is used only after a hundred answers.
      { on: Array.from({ length: 101 }, () => "chat") },
      {
        ask: { ...cup, ...requestWithPlugin("pareto-router", { price_source: "weighted_avg" }) },
        on: ["service/pareto-code"],
        back: expectStage("pareto-router", { price_source: "weighted_avg" }),
      },
    ],
  },
  ...["exa", "firecrawl", "parallel", "perplexity"].map((engine) => ({
    name: `13 web: engine ${engine}`,
    cases: [
      {
        ask: { ...cup, ...requestWithPlugin("web", { engine }) },
        to: { search: new RegExp(`/${engine}/.*cup`) },
        sent: /Bern won/,
      },
      {
        ask: { ...cup, ...requestWithPlugin("web", { engine }) },
        on: ["chat"],
        bare: true,
        refused: [400, new RegExp(`search\\.engines\\.${engine}`)] as const,
      },
    ],
  })),
  {
    name: "13 web: mode, x_search, user_location, max_uses",
    cases: [
      {
        ask: { ...cup, ...requestWithPlugin("web", { engine: "exa", mode: "fast" }) },
        on: ["chat"],
        to: { search: { type: "fast" } },
      },
      {
        ask: {
          ...cup,
          ...requestWithPlugin("web", { engine: "tavily", user_location: { type: "approximate", country: "CH" } }),
        },
        on: ["chat"],
        to: { search: { country: /switzerland/i } },
      },
      {
        ask: { ...cup, ...requestWithPlugin("web", { engine: "searxng", mode: "fast" }) },
        on: ["chat"],
        lost: { chat: "mode" },
      },
      {
        ask: { ...cup, ...requestWithPlugin("web", { x_search: { allowed_x_handles: ["a"] } }) },
        on: ["chat"],
        lost: { chat: "x_search" },
      },
      { ask: { ...cup, ...requestWithPlugin("web", { max_uses: 1 }) }, on: ["chat"], sent: /Bern won/ },
    ],
  },
  {
    name: "2.5 web_fetch of a PDF",
    cases: [
      {
        ask: { input: `Read ${servicesOrigin}/page/cup.pdf`, ...requestWithPlugin("web-fetch") },
        sent: /Cup notes of the PDF/,
      },
    ],
  },
];
