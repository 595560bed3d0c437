/** SPEC 2.2 and section B of the contract: settings of plugins, their limits, and their effects. */
import type { Row } from "../row.ts";
import {
  pdfFile,
  requestWithParts,
  requestWithPlugin,
  servicesOrigin,
  expectStage,
  textPart,
  uniqueWord,
} from "./asks.ts";
import { textOfLength, distinctWords, pluginLimits, pluginRow, probabilityReply } from "./plugin-asks.ts";
import { routerRows } from "./plugin-routers.ts";

const rules = ["Be kind and never rude to people."];
const judged = { settings: { rules } };

const alignment: readonly Row[] = [
  pluginLimits(
    "alignment",
    "rules",
    [["a"], distinctWords(128), [textOfLength(200)]],
    [[], distinctWords(129), [textOfLength(201)], ["a\nb"], [""], "a"],
  ),
  pluginLimits("alignment", "mode", ["enforce", "audit"], ["watch"], judged),
  pluginLimits("alignment", "instruct", [true, false], ["yes"], judged),
  pluginLimits("alignment", "max_retries", [0, 3], [-1, 4, 0.5], judged),
  pluginLimits("alignment", "threshold", [0.5, 1], [0, 1.1, "a"], judged),
  pluginLimits("alignment", "unheard_of", [], [1], judged),
  pluginRow("alignment", "rules are stated to the model", {
    ask: requestWithPlugin("alignment", { rules }),
    otherSays: probabilityReply(0.1),
    sent: /Be kind and never rude/,
    back: { alignment: { calls: [{ call: 1, outcome: "allowed", rules: [{ broken: false }] }] } },
  }),
  pluginRow("alignment", "instruct false states nothing", {
    ask: requestWithPlugin("alignment", { rules, instruct: false }),
    otherSays: probabilityReply(0.1),
    unsent: /Be kind and never rude/,
    back: { alignment: { calls: [{ outcome: "allowed" }] } },
  }),
  pluginRow("alignment", "enforce refuses a turn that stays broken", {
    ask: requestWithPlugin("alignment", { rules }),
    says: [{ text: "Rude words" }],
    otherSays: probabilityReply(0.9),
    refused: [403, /\w/],
  }),
  pluginRow("alignment", "audit delivers a broken turn", {
    ask: requestWithPlugin("alignment", { rules, mode: "audit" }),
    says: [{ text: "Ruder words" }],
    otherSays: probabilityReply(0.9),
    back: { alignment: { calls: [{ outcome: "blocked", rules: [{ broken: true }] }] }, output: [{ type: "message" }] },
  }),
  pluginRow("alignment", "a stream", {
    ask: { ...requestWithPlugin("alignment", { rules }), stream: true },
    otherSays: probabilityReply(0.1),
    events: ["response.created", "response.output_text.delta", "response.completed"],
  }),
  pluginRow("alignment", "without a judge", {
    ask: requestWithPlugin("alignment", { rules }),
    bare: true,
    on: ["chat"],
    refused: [400, /internal_models\.alignment_judge/],
  }),
];

const panel = ["t/chat", "t/messages"];
const fused = { on: "service/fusion" };
const fusion: readonly Row[] = [
  pluginLimits(
    "fusion",
    "analysis_models",
    [["t/chat"], distinctWords(8).map(() => "t/chat")],
    [[], distinctWords(9), "a"],
    fused,
  ),
  pluginLimits("fusion", "model", ["t/chat"], [5], { ...fused, settings: { analysis_models: panel } }),
  pluginLimits("fusion", "preset", ["general-high", "general-budget"], ["general-huge"], fused),
  pluginLimits("fusion", "max_tool_calls", [1, 16], [0, 17, 1.5], { ...fused, settings: { analysis_models: panel } }),
  pluginLimits(
    "fusion",
    "tools",
    [[], [{ type: "service:web_search" }]],
    [distinctWords(9).map(() => ({ type: "service:datetime" })), "a"],
    { ...fused, settings: { analysis_models: panel } },
  ),
  pluginLimits("fusion", "enabled", [true], ["yes"], { ...fused, settings: { analysis_models: panel } }),
  pluginRow("fusion", "the slug runs a panel", {
    ask: requestWithPlugin("fusion", { analysis_models: panel, model: "t/chat" }),
    on: ["service/fusion"],
    back: {
      output: [{ type: "service:fusion", responses: [{ model: "t/messages" }] }, { type: "message" }],
      service_metadata: { strategy: "fusion" },
    },
  }),
  pluginRow("fusion", "events of the stream", {
    ask: { ...requestWithPlugin("fusion", { analysis_models: panel, model: "t/chat" }), stream: true },
    on: ["service/fusion"],
    events: [
      "response.created",
      "response.fusion_call.in_progress",
      "response.fusion_call.panel.added",
      "response.fusion_call.panel.completed",
      "response.fusion_call.analysis.in_progress",
      "response.fusion_call.completed",
      "response.output_text.delta",
      "response.completed",
    ],
  }),
];

const long = Array.from({ length: 60 }, (_, n) => ({ role: "user", content: `${n} ${"word ".repeat(100)}` }));
const textPlugins: readonly Row[] = [
  pluginLimits("context-compression", "engine", ["middle-out"], ["luck"]),
  pluginLimits("context-compression", "enabled", [true, false], ["yes"]),
  pluginRow("context-compression", "an input above the window", {
    ask: { input: long, ...requestWithPlugin("context-compression") },
    on: ["t/small-window"],
    sent: /0 word/,
    back: { service_metadata: { pipeline: [{ type: "context_compression", data: { engine: "middle-out" } }] } },
  }),
  pluginRow("context-compression", "enabled false: the input is sent as it is", {
    ask: { input: long, ...requestWithPlugin("context-compression", { enabled: false }) },
    on: ["t/small-window"],
    sent: /30 word/,
  }),
  pluginLimits("file-parser", "enabled", [true, false], ["yes"]),
  pluginLimits(
    "file-parser",
    "pdf",
    [{ engine: "markdown" }, { engine: "cloudflare-ai" }, { engine: "pdf-text" }, { engine: "native" }],
    [{ engine: "luck" }, 5],
  ),
  ...["markdown", "cloudflare-ai", "pdf-text"].map((engine) =>
    pluginRow("file-parser", `pdf.engine ${engine}`, {
      ask: { ...requestWithParts(pdfFile), ...requestWithPlugin("file-parser", { pdf: { engine } }) },
      sent: /Cup notes of the PDF/,
      back: expectStage("file-parser", { pages: 1 }),
    }),
  ),
  pluginRow("file-parser", "pdf.engine native", {
    ask: {
      ...requestWithParts(textPart("Read"), pdfFile),
      ...requestWithPlugin("file-parser", { pdf: { engine: "native" } }),
    },
    sent: /JVBERi0/,
  }),
  pluginRow("file-parser", "enabled false to a model without files", {
    ask: { ...requestWithParts(pdfFile), ...requestWithPlugin("file-parser", { enabled: false }) },
    on: ["t/text-only"],
    refused: [404, /file/],
  }),
  pluginRow("moderation", "an input that is not flagged", {
    ask: { input: `Hi ${uniqueWord}`, ...requestWithPlugin("moderation") },
    to: { moderation: /Hi/ },
    back: { status: "completed" },
  }),
  pluginRow("moderation", "a flagged input", {
    ask: { input: "forbidden", ...requestWithPlugin("moderation") },
    refused: [403, /\w/],
  }),
  pluginRow("moderation", "without a service", {
    ask: requestWithPlugin("moderation"),
    bare: true,
    on: ["chat"],
    refused: [400, /internal_models\.moderation/],
  }),
  pluginLimits("response-healing", "enabled", [true, false], ["yes"]),
  ...(
    [
      ["a code fence", '```json\n{"a": 1}\n```'],
      ["a trailing comma", '{"a": 1,}'],
      ["a wrong bracket", '{"a": 1]'],
      ["unquoted keys", "{a: 1}"],
      ["prose around it", 'Here it is: {"a": 1} Enjoy!'],
      ["single quotes", "{'a': 1}"],
    ] as const
  ).map(([what, text]) =>
    pluginRow("response-healing", what, {
      ask: { text: { format: { type: "json_object" } }, ...requestWithPlugin("response-healing") },
      says: [{ text }],
      back: {
        output: [{ content: [{ text: /^\{\s*"a":\s*1\s*\}$/ }] }],
        service_metadata: { pipeline: [{ type: "response_healing" }] },
      },
    }),
  ),
  pluginRow("response-healing", "a truncated answer is left as it is", {
    ask: { text: { format: { type: "json_object" } }, ...requestWithPlugin("response-healing") },
    says: [{ text: '{"a": 1', cut: true }],
    back: { status: "incomplete", output: [{ content: [{ text: '{"a": 1' }] }] },
  }),
];

const cup = { input: "Who won the cup?" };
const web: readonly Row[] = [
  pluginLimits("web", "engine", ["searxng", "tavily", "brave", "exa", "firecrawl", "perplexity", "parallel"], ["luck"]),
  pluginLimits("web", "max_results", [1, 25], [0, 26]),
  pluginLimits("web", "max_uses", [1], [0, "a"]),
  pluginLimits("web", "enabled", [true, false], ["yes"]),
  pluginLimits("web", "search_prompt", ["See:"], [5]),
  pluginLimits("web", "include_domains", [["a.example", "*.b.example", "c.example/path"]], ["a", [5]]),
  pluginLimits("web", "exclude_domains", [["a.example"]], ["a", [5]]),
  pluginLimits("web", "user_location", [{ type: "approximate", city: "Bern" }, null], [{ type: "exact" }]),
  pluginLimits(
    "web",
    "x_search",
    [{ allowed_x_handles: ["a"] }],
    [{ allowed_x_handles: distinctWords(21) }, { allowed_x_handles: ["a"], excluded_x_handles: ["b"] }],
  ),
  ...["searxng", "tavily", "brave"].map((engine) =>
    pluginRow("web", `engine ${engine}`, {
      ask: { ...cup, ...requestWithPlugin("web", { engine }) },
      to: { search: new RegExp(`/${engine}`) },
      sent: /Bern won/,
    }),
  ),
  pluginRow("web", "search_prompt", {
    ask: { ...cup, ...requestWithPlugin("web", { search_prompt: "Mark 37", engine: "searxng" }) },
    sent: /Mark 37.*Bern won|Bern won.*Mark 37/s,
  }),
  pluginRow("web", "exclude_domains", {
    ask: { ...cup, ...requestWithPlugin("web", { exclude_domains: ["127.0.0.1"] }) },
    unsent: /Bern won/,
  }),
  pluginRow("web", "enabled false", {
    ask: { ...cup, ...requestWithPlugin("web", { enabled: false }) },
    unsent: /Bern won/,
  }),
  pluginRow("web", "citations", {
    ask: { ...cup, ...requestWithPlugin("web", { engine: "searxng" }) },
    says: [{ text: `Bern won [cup](${servicesOrigin}/page/cup.html)` }],
    back: { output: [{ content: [{ annotations: [{ type: "url_citation", title: "Cup" }] }] }] },
  }),
  pluginRow("web", "without an engine", {
    ask: { ...cup, ...requestWithPlugin("web") },
    bare: true,
    on: ["chat"],
    refused: [400, /search\.engines/],
  }),
  pluginLimits("web-fetch", "allowed_domains", [["a.example"]], ["a", [5]]),
  pluginLimits("web-fetch", "blocked_domains", [["a.example"]], ["a", [5]]),
  pluginLimits("web-fetch", "max_content_tokens", [1, 1_000], [0, "a"]),
  pluginLimits("web-fetch", "max_uses", [1, 50], [0, "a"]),
  pluginRow("web-fetch", "a page that the input names", {
    ask: { input: `Read ${servicesOrigin}/page/${uniqueWord}-cup.html`, ...requestWithPlugin("web-fetch") },
    to: { page: /cup\.html/ },
    sent: /went to Bern/,
  }),
  pluginRow("web-fetch", "blocked_domains", {
    ask: {
      input: `Read ${servicesOrigin}/page/cup.html`,
      ...requestWithPlugin("web-fetch", { blocked_domains: ["127.0.0.1"] }),
    },
    unsent: /went to Bern/,
  }),
  pluginRow("web-fetch", "max_content_tokens", {
    ask: {
      input: `Read ${servicesOrigin}/page/cup.html`,
      ...requestWithPlugin("web-fetch", { max_content_tokens: 5 }),
    },
    unsent: /as the page says/,
  }),
  pluginRow("web-fetch", "a private address", {
    ask: { input: "Read http://127.0.0.1:1/a", ...requestWithPlugin("web-fetch") },
    back: { status: "completed" },
  }),
];

const ids = [
  "alignment",
  "auto-beta-router",
  "auto-router",
  "context-compression",
  "file-parser",
  "fusion",
  "jev-router",
  "moderation",
  "pareto-router",
  "response-healing",
  "switchyard-router",
  "web",
  "web-fetch",
];
const twice: readonly Row[] = ids.map((id) =>
  pluginRow(id, "given twice", {
    ask: { plugins: [id, id].map((each) => ({ id: each, ...(each === "alignment" && { rules }) })) },
    on: ["chat"],
    refused: [400, new RegExp(id)],
  }),
);

export const pluginRows: readonly Row[] = [...alignment, ...routerRows, ...fusion, ...textPlugins, ...web, ...twice];
