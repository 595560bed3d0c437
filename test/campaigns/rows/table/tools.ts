/** SPEC 2.5 and section E of the contract: fields of tools, their limits, and the tools' form at providers. */
import type { Row, RowCase } from "../row.ts";
import {
  repliesWithCall,
  exampleFunction,
  expectOutput,
  pdfFile,
  requestWithParts,
  requestWithServiceTool,
  servicesOrigin,
  requestWithTool,
} from "./asks.ts";
import { functionRows } from "./tool-functions.ts";

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name: `2.5 ${name}`, cases });
const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}.example`);

function limits(
  type: string,
  field: string,
  accepted: readonly unknown[],
  refused: readonly unknown[],
  more: object = {},
): Row {
  const isService = type.startsWith("service:");
  const sendRequest = (value: unknown) => {
    const settings = { ...more, [field]: value };
    return requestWithTool(type, isService ? { parameters: settings } : settings);
  };
  return row(
    `${type}: ${field}`,
    ...accepted.map((value) => ({ ask: sendRequest(value), on: ["responses"], back: { status: "completed" } })),
    ...refused.map((value) => ({
      ask: sendRequest(value),
      on: ["responses"],
      refused: [400, new RegExp(field)] as const,
    })),
  );
}

const bringing = (...tools: readonly object[]) => ({
  input: [
    { type: "additional_tools", role: "developer", tools },
    { role: "user", content: "Hi" },
  ],
});

const searches: readonly Row[] = [
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
].flatMap((type) => [
  limits(type, "search_context_size", ["low", "medium", "high"], ["huge"]),
  limits(type, "engine", ["auto", "native", "exa", "searxng"], ["luck"]),
  limits(type, "max_results", [1, 25], [0, 26]),
  limits(
    type,
    "filters",
    [{ allowed_domains: ["a.example"] }, { blocked_domains: ["a.example"] }, null],
    [{ allowed_domains: "a" }],
  ),
  limits(
    type,
    "user_location",
    [{ type: "approximate", city: "Bern", country: "CH", region: "BE", timezone: "Europe/Zurich" }, null],
    [{ type: "exact" }],
  ),
]);

const serviceTools: readonly Row[] = [
  limits("service:web_search", "engine", ["auto", "exa", "parallel", "firecrawl", "perplexity"], ["luck"]),
  limits("service:web_search", "max_results", [1, 25], [0, 26, "a"]),
  limits("service:web_search", "max_uses", [1], [0]),
  limits("service:web_search", "max_total_results", [1, 50], [0]),
  limits("service:web_search", "max_characters", [1, 100_000], [0, 100_001]),
  limits("service:web_search", "search_context_size", ["low", "medium", "high"], ["huge"]),
  limits("service:web_search", "allowed_domains", [["a.example"]], ["a"]),
  limits("service:web_search", "excluded_domains", [["a.example"]], ["a"]),
  limits("service:web_fetch", "max_uses", [1, 50], [0]),
  limits("service:web_fetch", "max_content_tokens", [1, 5_000], [0]),
  limits("service:web_fetch", "engine", ["auto", "service"], ["luck"]),
  limits("service:web_fetch", "allowed_domains", [["a.example"]], ["a"]),
  limits("service:web_fetch", "blocked_domains", [["a.example"]], ["a"]),
  limits("service:datetime", "timezone", ["UTC", "Europe/Vienna"], ["Mars/Base", 5]),
  limits("service:search_models", "max_results", [1, 20], [0, 21]),
  limits("service:tool_search", "max_results", [1, 50], [0, 51]),
  limits("service:advisor", "name", ["Anna-1 b"], ["", "x".repeat(65), "a/b"]),
  limits("service:advisor", "model", ["t/other"], [5, "none/none"]),
  limits("service:advisor", "instructions", ["Be brief"], [5]),
  limits("service:advisor", "forward_transcript", [true, false], ["yes"]),
  limits("service:advisor", "stream", [true, false], ["yes"]),
  limits("service:advisor", "max_completion_tokens", [100], [0]),
  limits("service:advisor", "temperature", [0, 2], [-1, 3]),
  limits("service:advisor", "reasoning", [{ effort: "low" }], [{ effort: "huge" }]),
  limits("service:fusion", "analysis_models", [["t/chat"]], [[], many(9)]),
  limits("service:fusion", "max_tool_calls", [1, 16], [0, 17], { analysis_models: ["t/chat"] }),
  limits("service:fusion", "max_completion_tokens", [1_000], [0], { analysis_models: ["t/chat"] }),
  limits("service:fusion", "temperature", [0, 2], [-1, 3], { analysis_models: ["t/chat"] }),
  limits("service:image_generation", "model", ["t/painter"], ["t/chat-none", 5]),
  limits("service:apply_patch", "engine", ["auto", "service"], ["luck"]),
  limits("image_generation", "quality", ["low", "medium", "high", "auto"], ["huge"]),
  limits("image_generation", "background", ["transparent", "opaque", "auto"], ["blue"]),
  limits("image_generation", "output_format", ["png", "webp", "jpeg"], ["gif"]),
  limits("image_generation", "moderation", ["auto", "low"], ["none"]),
  limits("mcp", "require_approval", ["always", "never", { always: { tool_names: ["a"] } }], ["maybe"], {
    server_label: "s",
    server_url: "https://a.example",
  }),
  limits("mcp", "allowed_tools", [["a"], { tool_names: ["a"], read_only: true }], [5], {
    server_label: "s",
    server_url: "https://a.example",
  }),
  limits("mcp", "server_label", ["s"], [5], { server_url: "https://a.example" }),
  limits("file_search", "max_num_results", [1, 50], [0, "a"], { vector_store_ids: ["v"] }),
  limits(
    "file_search",
    "filters",
    [
      { type: "eq", key: "a", value: "b" },
      { type: "and", filters: [{ type: "gt", key: "a", value: 1 }] },
    ],
    [{ type: "like" }],
    { vector_store_ids: ["v"] },
  ),
  limits("file_search", "ranking_options", [{ ranker: "auto", score_threshold: 0.5 }], [5], {
    vector_store_ids: ["v"],
  }),
  limits(
    "code_interpreter",
    "container",
    ["ct", { type: "auto" }, { type: "auto", memory_limit: "4g" }],
    [5, { type: "other" }],
  ),
  limits("computer_use_preview", "environment", ["windows", "mac", "linux", "ubuntu", "browser"], ["moon"], {
    display_width: 1,
    display_height: 1,
  }),
];

const cup = { input: "Who won the cup?" };
const runs: readonly Row[] = [
  row("service:datetime runs", {
    ask: requestWithServiceTool("datetime", { timezone: "Europe/Vienna" }),
    says: repliesWithCall("service_datetime"),
    back: expectOutput({ type: "service:datetime", timezone: "Europe/Vienna" }, { type: "message" }),
  }),
  row("service:search_models runs", {
    ask: requestWithServiceTool("search_models"),
    says: repliesWithCall("service_search_models", { query: "painter" }),
    sent: /t\/painter/,
    back: expectOutput({ type: "service:search_models" }),
  }),
  row("service:web_fetch runs", {
    ask: requestWithServiceTool("web_fetch"),
    says: repliesWithCall("service_web_fetch", { url: `${servicesOrigin}/page/cup.html` }),
    sent: /went to Bern/,
    back: expectOutput({ type: "service:web_fetch", status: "completed", httpStatus: 200 }),
  }),
  row("service:web_fetch reads a PDF", {
    ask: requestWithServiceTool("web_fetch"),
    says: repliesWithCall("service_web_fetch", { url: `${servicesOrigin}/page/cup.pdf` }),
    sent: /Cup notes of the PDF/,
  }),
  row("service:fusion runs", {
    ask: requestWithServiceTool("fusion", { analysis_models: ["t/other"], model: "t/other" }),
    says: repliesWithCall("service_fusion", { prompt: "37?" }),
    otherSays: [{ text: "Panel 37" }],
    back: expectOutput({ type: "service:fusion" }, { type: "message" }),
  }),
  row("service:files reads", {
    ask: { ...requestWithParts(pdfFile), ...requestWithServiceTool("files") },
    says: repliesWithCall("service_files", { operation: "read", file_id: "file_0" }),
    back: expectOutput({ type: "service:files", operation: "read", status: "completed" }),
  }),
  row("service:files writes nothing", {
    ask: { ...requestWithParts(pdfFile), ...requestWithServiceTool("files") },
    says: repliesWithCall("service_files", { operation: "write", filename: "a" }),
    back: expectOutput({ type: "service:files", status: "incomplete" }),
  }),
  row("max_tool_calls", {
    ask: { ...requestWithServiceTool("datetime"), max_tool_calls: 1 },
    says: [
      ...repliesWithCall("service_datetime").slice(0, 1),
      ...repliesWithCall("service_datetime", { timezone: "UTC" }),
    ],
    back: { status: "completed" },
  }),
  row("server and client tools in one turn", {
    ask: { tools: [exampleFunction, { type: "service:datetime" }] },
    says: [
      {
        calls: [
          { name: "service_datetime", args: {} },
          { name: "f", args: { a: "1" } },
        ],
      },
    ],
    back: expectOutput({ type: "service:datetime" }, { type: "function_call", name: "f" }),
  }),
  row("usage counts server tools", {
    ask: requestWithServiceTool("datetime"),
    says: repliesWithCall("service_datetime"),
    back: { usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } } },
  }),
  row("usage counts searches", {
    ask: { ...cup, ...requestWithServiceTool("web_search") },
    says: repliesWithCall("service_web_search", { query: "cup" }),
    back: { usage: { server_tool_use_details: { web_search_requests: 1 } } },
  }),
  ...["searxng", "tavily", "brave"].map((engine) =>
    row(`service:web_search engine ${engine}`, {
      ask: { ...cup, ...requestWithServiceTool("web_search", { engine }) },
      says: repliesWithCall("service_web_search", { query: "cup" }),
      to: { search: new RegExp(`/${engine}`) },
      sent: /Bern won/,
    }),
  ),
  row("service:web_search max_uses", {
    ask: { ...cup, ...requestWithServiceTool("web_search", { max_uses: 1 }) },
    says: [
      ...repliesWithCall("service_web_search", { query: "a" }).slice(0, 1),
      ...repliesWithCall("service_web_search", { query: "b" }),
    ],
    back: expectOutput(
      { type: "service:web_search", status: "completed" },
      { type: "service:web_search", status: "incomplete" },
    ),
  }),
  row("tool_choice of a server tool", {
    ask: { ...requestWithServiceTool("datetime"), tool_choice: { type: "service:datetime" } },
    says: repliesWithCall("service_datetime"),
    back: expectOutput({ type: "service:datetime" }),
  }),
  row("an unknown tool", { ask: requestWithTool("service:unheard"), on: ["chat"], refused: [400, /^tools\.0\.type/] }),
  ...(
    [
      [
        "a client tool",
        { type: "apply_patch" },
        repliesWithCall("apply_patch", { type: "delete_file", path: "a" }),
        { type: "apply_patch_call" },
      ],
      [
        "web_search",
        { type: "web_search" },
        repliesWithCall("web_search", { query: "cup" }),
        { type: "web_search_call" },
      ],
      [
        "a server tool",
        { type: "service:datetime" },
        repliesWithCall("service_datetime"),
        { type: "service:datetime" },
      ],
    ] as const
  ).flatMap(([what, brought, says, item]) => [
    row(`additional_tools: ${what}`, { ask: bringing(brought), sent: /apply_patch|web_search|googleSearch|datetime/ }),
    row(`additional_tools: ${what} is called`, {
      ask: { ...bringing(brought, exampleFunction) },
      on: ["chat", "converse", "gemini"],
      says,
      back: expectOutput(item),
    }),
  ]),
];

export const toolRows: readonly Row[] = [...functionRows, ...searches, ...serviceTools, ...runs];
