/** SPEC 2.4, 6 and 7, and sections D, F and G of the contract: items, events, usage and errors in answers of every format. */
import type { ModelAnswer, Row, RowCase } from "../row.ts";
import { pixel } from "../services.ts";
import { repliesWithCall, exampleFunction, requestWithTool } from "./asks.ts";
import { failureRows } from "./failures.ts";

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name, cases });
const native = ["responses"];
const functionsOnly = ["chat", "messages", "gemini", "converse"];

const begin = ["response.created", "response.in_progress"];
const message = [
  "response.output_item.added",
  "response.content_part.added",
  "response.output_text.delta",
  "response.output_text.done",
  "response.content_part.done",
  "response.output_item.done",
];
const streams: readonly Row[] = [
  row("F.3 text", { ask: { stream: true }, events: [...begin, ...message, "response.completed"] }),
  row("F.3 reasoning before the message", {
    ask: { stream: true, reasoning: { effort: "low", summary: "auto" } },
    says: [{ thought: "Hm 37", text: "Hello" }],
    events: [...begin, "response.output_item.added", "response.output_item.done", ...message, "response.completed"],
    back: { output: [{ type: "reasoning" }, { type: "message" }] },
  }),
  row("F.3 function call", {
    ask: { stream: true, tools: [exampleFunction] },
    says: [{ calls: [{ name: "f", args: { a: "37" } }] }],
    events: [
      ...begin,
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ],
    back: { output: [{ type: "function_call", name: "f", arguments: /"a":\s*"37"/ }] },
  }),
  row("F.3 two function calls", {
    ask: { stream: true, tools: [exampleFunction] },
    says: [
      {
        calls: [
          { name: "f", args: { a: "37" } },
          { name: "f", args: { a: "38" } },
        ],
      },
    ],
    back: {
      output: [
        { type: "function_call", arguments: /37/ },
        { type: "function_call", arguments: /38/ },
      ],
    },
  }),
  row("F.3 text, then a function call", {
    ask: { stream: true, tools: [exampleFunction] },
    says: [{ text: "Wait", calls: [{ name: "f", args: { a: "37" } }] }],
    events: [...begin, ...message, "response.function_call_arguments.done", "response.completed"],
  }),
  row("F.3 custom tool call", {
    ask: { stream: true, ...requestWithTool("custom", { name: "c" }) },
    on: functionsOnly,
    says: [{ calls: [{ name: "c", args: { input: "37" } }] }],
    events: [
      ...begin,
      "response.custom_tool_call_input.delta",
      "response.custom_tool_call_input.done",
      "response.completed",
    ],
  }),
  row("F.3 token cap", {
    ask: { stream: true, max_output_tokens: 16 },
    says: [{ text: "Hel", cut: true }],
    events: [...begin, ...message, "response.incomplete"],
    back: {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ status: "incomplete" }],
    },
  }),
  row("F.3 web search of Sluice", {
    ask: { stream: true, ...requestWithTool("web_search") },
    on: ["chat", "converse"],
    says: repliesWithCall("web_search", { query: "cup" }),
    events: [
      ...begin,
      "response.output_item.added",
      "response.web_search_call.in_progress",
      "response.web_search_call.searching",
      "response.web_search_call.completed",
      "response.output_item.done",
      ...message,
      "response.completed",
    ],
  }),
  row("F.3 image generation of Sluice", {
    ask: { stream: true, ...requestWithTool("image_generation") },
    on: ["chat", "converse"],
    says: repliesWithCall("image_generation", { prompt: "A cube" }),
    otherSays: [{ image: pixel }],
    events: [
      ...begin,
      "response.image_generation_call.in_progress",
      "response.image_generation_call.generating",
      "response.image_generation_call.completed",
      "response.completed",
    ],
  }),
  row("F.5 one debug event per provider, first", {
    ask: { stream: true, debug: { echo_upstream_body: true } },
    events: ["response.debug", ...begin, "response.completed"],
  }),
  row("F.3 a failure before the first byte has its status", {
    ask: { stream: true },
    says: [{ fails: { status: 400, message: "Bad words" } }],
    refused: [400, /Bad words/],
  }),
];

const whole = (
  name: string,
  says: ModelAnswer,
  back: object,
  sendRequest: Readonly<Record<string, unknown>> = {},
): Row => row(`2.4 ${name}`, { ask: sendRequest, says: [says], back });

const answers: readonly Row[] = [
  whole(
    "message",
    { text: "Hello 37" },
    {
      status: "completed",
      error: null,
      output: [
        {
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hello 37", annotations: [] }],
        },
      ],
    },
  ),
  whole(
    "reasoning",
    { thought: "Hm 37", text: "Hello" },
    { output: [{ type: "reasoning" }, { type: "message" }] },
    { reasoning: { effort: "low", summary: "auto" } },
  ),
  whole(
    "function_call",
    { calls: [{ name: "f", args: { a: "37" } }] },
    { output: [{ type: "function_call", name: "f", status: "completed", call_id: /\w/ }] },
    { tools: [exampleFunction] },
  ),
  row("2.4 custom_tool_call", {
    ask: requestWithTool("custom", { name: "c" }),
    on: functionsOnly,
    says: [{ calls: [{ name: "c", args: { input: "37" } }] }],
    back: { output: [{ type: "custom_tool_call", name: "c", input: "37" }] },
  }),
  whole(
    "namespace of a call",
    { calls: [{ name: "n__f", args: { a: "37" } }] },
    { output: [{ type: "function_call" }] },
    requestWithTool("namespace", { name: "n", description: "d", tools: [exampleFunction] }),
  ),
  whole(
    "incomplete",
    { text: "Hel", cut: true },
    { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
  ),
  whole(
    "usage",
    {},
    {
      usage: {
        input_tokens: 12,
        output_tokens: 3,
        total_tokens: 15,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    },
  ),
  whole("usage.cost", {}, { usage: { cost: 0.000018 } }),
  whole(
    "id, object, times",
    {},
    { id: /^resp_\w{16,}/, object: "response", created_at: /^\d{10}$/, completed_at: /^\d{10}$/ },
  ),
  whole("service_tier", {}, { service_tier: /default/ }),
  whole(
    "service_metadata",
    {},
    {
      service_metadata: {
        attempt: 1,
        endpoints: { total: 1, available: [{ selected: true }] },
        is_byok: false,
        requested: /^t\//,
        strategy: "direct",
        summary: /selected=/,
      },
    },
  ),
  row("2.4 an image of the answer", {
    ask: { modalities: ["text", "image"] },
    on: ["chat", "gemini"],
    says: [{ image: pixel }],
    back: { output: [/iVBORw0KGgo/] },
  }),
  row("2.4 models: the one that served", {
    ask: { models: ["t/chat", "t/messages"] },
    on: ["t/chat"],
    says: [{ fails: { status: 429, message: "Slow down" } }, {}],
    back: { model: "t/messages", service_metadata: { attempt: 2 } },
  }),
];

const done = { id: "x_1", status: "completed" };
/** Items of the provider's own tools must come back unchanged. */
const nativeItems: readonly Row[] = (
  [
    [{ type: "web_search_call", ...done, action: { type: "search", query: "37" } }, { type: "web_search" }],
    [
      { type: "file_search_call", ...done, queries: ["37"] },
      { type: "file_search", vector_store_ids: ["v"] },
    ],
    [
      { type: "code_interpreter_call", ...done, code: "37", container_id: "c", outputs: [] },
      { type: "code_interpreter", container: "c" },
    ],
    [{ type: "image_generation_call", ...done, result: pixel }, { type: "image_generation" }],
    [
      { type: "computer_call", ...done, call_id: "c", action: { type: "wait" }, pending_safety_checks: [] },
      { type: "computer" },
    ],
    [
      { type: "local_shell_call", ...done, call_id: "c", action: { type: "exec", command: ["ls"], env: {} } },
      { type: "local_shell" },
    ],
    [{ type: "shell_call", ...done, call_id: "c", action: { commands: ["ls"] } }, { type: "shell" }],
    [
      { type: "apply_patch_call", ...done, call_id: "c", operation: { type: "delete_file", path: "a" } },
      { type: "apply_patch" },
    ],
    [
      { type: "mcp_list_tools", id: "x_1", server_label: "s", tools: [] },
      { type: "mcp", server_label: "s", server_url: "https://a.example" },
    ],
    [
      { type: "mcp_call", ...done, name: "t", arguments: "{}", server_label: "s", output: "37", error: null },
      { type: "mcp", server_label: "s", server_url: "https://a.example" },
    ],
    [
      { type: "mcp_approval_request", id: "x_1", name: "t", arguments: "{}", server_label: "s" },
      { type: "mcp", server_label: "s", server_url: "https://a.example" },
    ],
  ] as const
).map(([item, declared]) =>
  row(`D ${item.type} of the provider`, {
    ask: { tools: [declared] },
    on: native,
    says: [{ items: [item], text: "Done" }],
    back: { output: [{ type: item.type }, { type: "message" }] },
  }),
);

export const answerRows: readonly Row[] = [...streams, ...answers, ...nativeItems, ...failureRows];
