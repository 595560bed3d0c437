/** Rows of tools with earlier failures. */
import type { Row } from "../row.ts";
import {
  repliesWithCall,
  exampleFunction,
  expectOutput,
  requestWithParts,
  pdfFile,
  requestWithServiceTool,
  servicesOrigin,
  requestWithTool,
  uniqueWord,
} from "./asks.ts";

const cup = { input: "Who won the cup?" };
const everywhere = ["chat", "responses", "messages", "gemini", "converse", "sluice/echo"];
const functionsOnly = ["chat", "messages", "gemini", "converse"];

/** A row of a tool run by the client: every provider gets it in some form, and its call comes back as the tool's own item. */
const clientTool = (type: string, settings: object, args: object, item: object): Row => ({
  name: `2.5 tool ${type}`,
  cases: [
    { ask: requestWithTool(type, settings), sent: /apply_patch|shell|computer/ },
    {
      ask: requestWithTool(type, settings),
      on: functionsOnly,
      says: repliesWithCall(type === "computer_use_preview" ? "computer" : type, args),
      back: expectOutput(item),
    },
  ],
});

const searches = (type: string, settings: object = {}): Row => ({
  name: `2.5 tool ${type}`,
  cases: [
    { ask: { ...cup, ...requestWithTool(type, settings) }, on: ["responses"], sent: { tools: [{ type }] } },
    {
      ask: { ...cup, ...requestWithTool(type, settings) },
      on: ["chat", "converse"],
      says: repliesWithCall("web_search", { query: "cup" }),
      to: { search: /cup/ },
      back: expectOutput({ type: "web_search_call", status: "completed" }, { type: "message" }),
    },
    {
      ask: { ...cup, ...requestWithTool(type, settings) },
      on: ["messages", "gemini"],
      sent: /web_search|googleSearch/,
    },
    {
      ask: { ...cup, tools: [{ type, ...settings }, exampleFunction] },
      on: ["gemini"],
      says: repliesWithCall("web_search", { query: "cup" }),
      to: { search: /cup/ },
    },
    {
      ask: { ...cup, ...requestWithTool(type, settings) },
      on: ["sluice/echo", "service/auto"],
      back: { status: "completed" },
    },
  ],
});

/** A URL with a numeric address, which needs no name lookup. A scripted vendor reads the page, so nothing is fetched from that address. */
const publicPage = `http://93.184.215.14/${uniqueWord}-cup.html`;
const fetchEngine = (engine: string): Row => ({
  name: `2.5 web_fetch engine ${engine}`,
  cases: [
    {
      ask: { input: `Read ${publicPage}`, ...requestWithServiceTool("web_fetch", { engine }) },
      says: repliesWithCall("service_web_fetch", { url: publicPage }),
      to: { search: new RegExp(`/${engine}/.*cup\\.html`) },
      back: expectOutput({ type: "service:web_fetch", status: "completed", httpStatus: 200, content: "Bern won" }),
    },
    {
      ask: requestWithServiceTool("web_fetch", { engine }),
      on: ["chat"],
      bare: true,
      refused: [400, new RegExp(`search\\.engines\\.${engine}`)],
    },
  ],
});
const searchEngine = (engine: string): Row => ({
  name: `2.5 web_search engine ${engine}`,
  cases: [
    {
      ask: { ...cup, ...requestWithServiceTool("web_search", { engine }) },
      says: repliesWithCall("service_web_search", { query: "cup" }),
      to: { search: new RegExp(`/${engine}/`) },
      back: expectOutput({ type: "service:web_search", status: "completed" }),
    },
    {
      ask: requestWithServiceTool("web_search", { engine }),
      on: ["chat"],
      bare: true,
      refused: [400, new RegExp(`search\\.engines\\.${engine}`)],
    },
  ],
});

const mcpServer = { server_label: "s", server_url: `${servicesOrigin}/mcp` };
/** An earlier response's request for approval of an MCP call, and the client's approval. */
const allowedCall = [
  { role: "user", content: "Find it." },
  { type: "mcp_approval_request", id: "m_1", server_label: "s", name: "find", arguments: "{}" },
  { type: "mcp_approval_response", approval_request_id: "m_1", approve: true },
];

export const toolGaps: readonly Row[] = [
  clientTool(
    "apply_patch",
    {},
    { type: "delete_file", path: "a" },
    { type: "apply_patch_call", operation: { path: "a" } },
  ),
  clientTool("local_shell", {}, { command: ["ls"] }, { type: "local_shell_call" }),
  clientTool("shell", {}, { commands: ["ls"] }, { type: "shell_call" }),
  clientTool(
    "computer_use_preview",
    { display_width: 100, display_height: 100, environment: "linux" },
    { type: "click", x: 1, y: 2, button: "left" },
    { type: "computer_call" },
  ),
  {
    name: "2.5 tool file_search",
    cases: [
      {
        ask: requestWithTool("file_search", { vector_store_ids: ["handbook"], max_num_results: 3 }),
        says: repliesWithCall("file_search", { query: "cup" }),
        to: { search: { query: "cup", max_num_results: 3 } },
        sent: /Bern won/,
        back: expectOutput({ type: "file_search_call", status: "completed", queries: ["cup"] }),
      },
      {
        ask: requestWithTool("file_search", { vector_store_ids: ["vs_1"] }),
        on: ["responses"],
        sent: { tools: [{ type: "file_search" }] },
      },
      {
        ask: requestWithTool("file_search", { vector_store_ids: ["vs_1"] }),
        on: functionsOnly,
        refused: [400, /file_search\.stores/],
      },
    ],
  },
  {
    name: "2.5 tool mcp",
    cases: [
      { ask: requestWithTool("mcp", mcpServer), on: ["responses"], sent: { tools: [{ type: "mcp" }] } },
      {
        ask: requestWithTool("mcp", { ...mcpServer, require_approval: "never" }),
        on: functionsOnly,
        says: repliesWithCall("s__find", {}),
        to: { mcp: /tools\/call/ },
        sent: /A secret of Alice/,
        back: expectOutput(
          { type: "mcp_list_tools", tools: [{ name: "find" }] },
          { type: "mcp_call", output: "A secret of Alice" },
          { type: "message" },
        ),
      },
      {
        ask: requestWithTool("mcp", mcpServer),
        on: functionsOnly,
        says: repliesWithCall("s__find", {}),
        back: expectOutput({ type: "mcp_list_tools" }, { type: "mcp_approval_request", name: "find" }),
      },
      {
        ask: { ...requestWithTool("mcp", mcpServer), input: allowedCall },
        on: functionsOnly,
        to: { mcp: /tools\/call/ },
        back: expectOutput({ type: "mcp_call", approval_request_id: "m_1" }, { type: "message" }),
      },
      { ask: requestWithTool("mcp", mcpServer), on: ["chat"], bare: true, refused: [400, /mcp\.allow/] },
    ],
  },
  {
    name: "2.5 tool service:apply_patch",
    cases: [
      {
        ask: requestWithServiceTool("apply_patch"),
        on: functionsOnly,
        says: repliesWithCall("apply_patch", { type: "delete_file", path: "a" }),
        back: expectOutput({ type: "apply_patch_call" }),
      },
    ],
  },
  {
    name: "2.5 tool service:files",
    cases: [
      {
        ask: { ...requestWithParts(pdfFile), ...requestWithServiceTool("files") },
        says: repliesWithCall("service_files", { operation: "list" }),
        sent: /cup\.pdf/,
        back: expectOutput({ type: "service:files", operation: "list" }),
      },
    ],
  },
  searches("web_search", { search_context_size: "low", filters: { allowed_domains: ["127.0.0.1"] } }),
  searches("web_search_2025_08_26"),
  searches("web_search_preview"),
  searches("web_search_preview_2025_03_11"),
  {
    name: "2.5 web search run by the gateway where the provider has none",
    cases: [
      {
        ask: { ...cup, tools: [exampleFunction, { type: "custom", name: "apply_patch" }, { type: "web_search" }] },
        on: ["chat", "converse", "gemini"],
        says: repliesWithCall("web_search", { query: "cup" }),
        to: { search: /cup/ },
        back: expectOutput({ type: "web_search_call" }),
      },
      {
        ask: { ...cup, tools: [exampleFunction, { type: "web_search" }] },
        on: everywhere,
        back: { status: "completed" },
      },
    ],
  },
  ...["exa", "firecrawl", "parallel"].map(fetchEngine),
  {
    name: "2.5 web_fetch engine native",
    final: "only a provider that reads pages can run it",
    cases: [
      {
        ask: { ...cup, ...requestWithServiceTool("web_fetch", { engine: "native" }) },
        on: functionsOnly,
        refused: [400, /^tools\.0\.parameters\.engine: /],
      },
    ],
  },
  ...["exa", "firecrawl", "parallel", "perplexity"].map(searchEngine),
  {
    name: "2.5 web_search engine native",
    final: "only a provider with a search of its own can run it",
    cases: [
      {
        ask: { ...cup, ...requestWithServiceTool("web_search", { engine: "native" }) },
        on: ["chat", "converse"],
        refused: [400, /^tools\.0\.parameters\.engine: /],
      },
    ],
  },
  {
    name: "2.5 web_search user_location, mode",
    cases: [
      {
        ask: {
          ...cup,
          ...requestWithServiceTool("web_search", {
            engine: "tavily",
            user_location: { type: "approximate", country: "CH" },
          }),
        },
        on: ["chat"],
        says: repliesWithCall("service_web_search", { query: "cup" }),
        to: { search: { country: /switzerland/i } },
      },
      {
        ask: { ...cup, ...requestWithServiceTool("web_search", { engine: "parallel", mode: "fast" }) },
        on: ["chat"],
        says: repliesWithCall("service_web_search", { query: "cup" }),
        to: { search: { mode: "fast" } },
      },
      {
        ask: { ...cup, ...requestWithServiceTool("web_search", { engine: "brave", mode: "fast" }) },
        on: ["chat"],
        lost: { chat: "tools.0.parameters.mode" },
      },
    ],
  },
];
