/** Every kind of item of a Responses server, with its sequence of events, as a table. */
import { itemAddedEvent, completedEvent, itemDoneEvent } from "../../features/guardrails/reading.js";

export type Json = Readonly<Record<string, unknown>>;

export interface ItemStory {
  readonly item: Json;
  /** The announced item; by default the whole item in progress, without its text. */
  readonly start?: Json;
  /** Type without response., and payload without address. */
  readonly events?: readonly (readonly [string, Json?])[];
  /** Whether the item waits for the client at the end of the response: then its server sends no end event for it. */
  readonly waits?: boolean;
  /** The events for clients, in short: the type, or `native` with its name. */
  readonly given?: readonly string[];
}

const callId = { call_id: "call_1" };
const done = { status: "completed" };
const progress = (stem: string, ...steps: readonly string[]) => ({
  events: steps.map((step) => [`${stem}.${step}`] as const),
  given: steps.map((step) => `native response.${stem}.${step}`),
});
const delta = (stem: string, text: string) => [`${stem}.delta`, { delta: text }] as const;

/** Stories by item type. */
const stories: Readonly<Record<string, ItemStory>> = {
  message: {
    start: { status: "in_progress", role: "assistant", content: [], phase: "commentary" },
    item: {
      ...done,
      role: "assistant",
      phase: "commentary",
      content: [
        {
          type: "output_text",
          text: "Hello",
          annotations: [
            { type: "url_citation", url: "https://a.example/", title: "", start_index: 0, end_index: 5 },
            { type: "file_citation", file_id: "f", filename: "a", index: 1 },
            {
              type: "container_file_citation",
              container_id: "c",
              file_id: "f",
              filename: "a",
              start_index: 0,
              end_index: 1,
            },
            { type: "file_path", file_id: "f", index: 1 },
            { type: "later", more: true },
          ],
          logprobs: [],
        },
        { type: "refusal", refusal: "No." },
      ],
    },
    events: [
      ["content_part.added", { content_index: 0, part: { type: "output_text", text: "" } }],
      ["output_text.delta", { content_index: 0, delta: "Hel", logprobs: [] }],
      ["output_text.delta", { content_index: 0, delta: "lo", logprobs: [] }],
      [
        "output_text.annotation.added",
        {
          content_index: 0,
          annotation_index: 0,
          annotation: { type: "url_citation", url: "https://a.example/", title: "", start_index: 0, end_index: 5 },
        },
      ],
      ["output_text.done", { content_index: 0, text: "Hello", logprobs: [] }],
      ["content_part.done", { content_index: 0, part: { type: "output_text", text: "Hello" } }],
      ["refusal.delta", { content_index: 1, delta: "No" }],
      ["refusal.done", { content_index: 1, refusal: "No." }],
    ],
    given: [
      "text.delta",
      "text.delta",
      "annotation",
      "refusal.delta",
      "refusal.delta",
      "annotation",
      "annotation",
      "annotation",
      "annotation",
    ],
  },
  reasoning: {
    start: { summary: [] },
    item: {
      ...done,
      summary: [{ type: "summary_text", text: "Briefly" }],
      content: [{ type: "reasoning_text", text: "At length" }],
      encrypted_content: "b64",
      format: "xai-responses-v1",
      signature: "s",
    },
    events: [
      ["reasoning_summary_part.added", { summary_index: 0, part: { type: "summary_text", text: "" } }],
      ["reasoning_summary_text.delta", { summary_index: 0, delta: "Brief" }],
      ["reasoning_summary_text.done", { summary_index: 0, text: "Briefly" }],
      ["reasoning_summary_part.done", { summary_index: 0, part: { type: "summary_text", text: "Briefly" } }],
      ["reasoning_text.delta", { content_index: 0, delta: "At " }],
      ["reasoning_text.delta", { content_index: 0, delta: "length" }],
      ["reasoning_text.done", { content_index: 0, text: "At length" }],
    ],
    given: ["summary.delta", "summary.delta", "reasoning.delta", "reasoning.delta"],
  },
  function_call: {
    start: { ...callId, name: "f", arguments: "", status: "in_progress", namespace: "crm", async: true },
    item: {
      ...done,
      ...callId,
      name: "f",
      arguments: '{"a":1}',
      namespace: "crm",
      async: true,
      subagent_id: "s",
      subagent_items: [{ type: "x" }],
    },
    events: [
      delta("function_call_arguments", '{"a"'),
      delta("function_call_arguments", ":1}"),
      ["function_call_arguments.done", { name: "f", arguments: '{"a":1}' }],
    ],
    given: ["arguments.delta", "arguments.delta"],
  },
  custom_tool_call: {
    start: { ...callId, name: "sql", input: "", namespace: "crm" },
    item: { ...callId, name: "sql", input: "select 1", namespace: "crm" },
    events: [
      delta("custom_tool_call_input", "select "),
      delta("custom_tool_call_input", "1"),
      ["custom_tool_call_input.done", { input: "select 1" }],
    ],
    given: ["arguments.delta", "arguments.delta"],
  },
  apply_patch_call: {
    start: { ...callId, status: "in_progress", operation: { type: "update_file", path: "a", diff: "" } },
    item: { ...done, ...callId, operation: { type: "update_file", path: "a", diff: "@@\n-a\n+b\n" } },
    events: [
      delta("apply_patch_call_operation_diff", "@@\n-a"),
      ["apply_patch_call_operation_diff.done", { diff: "@@\n-a\n+b\n" }],
    ],
    given: ["arguments.delta", "arguments.delta"],
  },
  code_interpreter_call: {
    start: { status: "in_progress", code: "", container_id: "c", outputs: null },
    item: {
      ...done,
      code: "1 + 1",
      container_id: "c",
      outputs: [
        { type: "logs", logs: "2" },
        { type: "image", url: "https://a.example/" },
        { type: "file", file_id: "f" },
      ],
    },
    events: [
      ["code_interpreter_call.in_progress"],
      delta("code_interpreter_call_code", "1 +"),
      delta("code_interpreter_call_code", " 1"),
      ["code_interpreter_call_code.done", { code: "1 + 1" }],
      ["code_interpreter_call.interpreting"],
      ["code_interpreter_call.completed"],
    ],
    given: [
      "native response.code_interpreter_call.in_progress",
      "arguments.delta",
      "arguments.delta",
      "native response.code_interpreter_call.interpreting",
      "native response.code_interpreter_call.completed",
    ],
  },
  mcp_call: {
    start: { status: "in_progress", name: "t", server_label: "s", arguments: "" },
    item: {
      status: "failed",
      name: "t",
      server_label: "s",
      arguments: "{}",
      output: null,
      error: { type: "http_error", code: 500 },
    },
    events: [
      ["mcp_call.in_progress"],
      delta("mcp_call_arguments", "{}"),
      ["mcp_call_arguments.done", { arguments: "{}" }],
      ["mcp_call.failed"],
    ],
    given: ["native response.mcp_call.in_progress", "arguments.delta", "native response.mcp_call.failed"],
  },
  mcp_list_tools: {
    start: { server_label: "s", tools: [] },
    item: { server_label: "s", tools: [{ name: "t", input_schema: {} }], error: null },
    ...progress("mcp_list_tools", "in_progress", "completed"),
  },
  mcp_approval_request: { item: { name: "t", arguments: "{}", server_label: "s" } },
  web_search_call: {
    start: { status: "in_progress" },
    item: {
      ...done,
      action: { type: "search", query: "q", queries: ["q"], sources: [{ type: "url", url: "https://a.example/" }] },
    },
    ...progress("web_search_call", "in_progress", "searching", "completed"),
  },
  file_search_call: {
    start: { status: "in_progress", queries: [] },
    item: { ...done, queries: ["q"], results: [{ file_id: "f", score: 0.5 }] },
    ...progress("file_search_call", "in_progress", "searching", "completed"),
  },
  image_generation_call: {
    start: { status: "in_progress", result: null },
    // Some servers leave this status until the end.
    item: { status: "generating", result: "AAAA", revised_prompt: "p" },
    events: [
      ["image_generation_call.in_progress"],
      ["image_generation_call.generating"],
      ["image_generation_call.partial_image", { partial_image_index: 0, partial_image_b64: "AA" }],
      ["image_generation_call.completed"],
    ],
    given: ["in_progress", "generating", "partial_image", "completed"].map(
      (step) => `native response.image_generation_call.${step}`,
    ),
  },
  computer_call: { item: { ...done, ...callId, action: { type: "click", x: 1, y: 2 }, pending_safety_checks: [] } },
  shell_call: { item: { ...done, ...callId, action: { commands: ["ls"], timeout_ms: null } } },
  shell_call_output: {
    item: { ...done, ...callId, output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } }] },
  },
  local_shell_call: { item: { ...done, ...callId, action: { type: "exec", command: ["ls"], env: {} } } },
  tool_search_call: { item: { call_id: null, arguments: { query: "q" }, execution: "server" } },
  tool_search_output: { item: { call_id: null, execution: "server", tools: [] } },
  compaction: { item: { encrypted_content: "b64" } },
  "service:datetime": { item: { ...done, datetime: "2026-11-20T20:30:00+01:00", timezone: "Europe/Oslo" } },
  "service:web_search": { item: { ...done, action: { type: "search", query: "q", sources: [] } } },
  "service:web_fetch": { item: { status: "incomplete", url: "https://a.example/", httpStatus: 500, error: "e" } },
  "service:subagent": { item: { status: "in_progress", ...callId, task_name: "t" }, waits: true },
  "service:advisor": {
    start: { status: "in_progress", model: "m" },
    item: { ...done, model: "m", advice: "Do" },
    events: [
      ["output_text.delta", { content_index: 0, delta: "Do", logprobs: [] }],
      ["output_text.done", { content_index: 0, text: "Do", logprobs: [] }],
    ],
    given: ["native response.output_text.delta", "native response.output_text.done"],
  },
  "service:fusion": {
    start: { status: "in_progress" },
    item: {
      ...done,
      responses: [{ model: "a", content: "x" }],
      failed_models: [],
      analysis: { consensus: [] },
      sources: [],
    },
    events: [
      ["fusion_call.in_progress"],
      ["fusion_call.panel.added", { model: "a" }],
      ["fusion_call.panel.reasoning.delta", { model: "a", delta: "t" }],
      ["fusion_call.panel.delta", { model: "a", delta: "x" }],
      ["fusion_call.panel.completed", { model: "a", content: "x" }],
      ["fusion_call.panel.failed", { model: "b", error: "e", status_code: 429 }],
      ["fusion_call.analysis.in_progress", { analyst_model: "m", judge_model: "m" }],
      ["fusion_call.analysis.completed", { analysis: { consensus: [] } }],
      ["fusion_call.completed"],
    ],
    given: [
      "in_progress",
      "panel.added",
      "panel.reasoning.delta",
      "panel.delta",
      "panel.completed",
      "panel.failed",
      "analysis.in_progress",
      "analysis.completed",
      "completed",
    ].map((step) => `native response.fusion_call.${step}`),
  },
  a_later_kind: {
    start: { status: "in_progress", deep: { a: [1] } },
    item: { ...done, deep: { a: [1, { b: null }] } },
    events: [["a_later_kind.step_taken", { step: { n: 1 } }]],
    given: ["native response.a_later_kind.step_taken"],
  },
};

export const itemKinds = Object.entries(stories).map(([type, story]) => ({ type, story }));
export type ItemKind = (typeof itemKinds)[number];

export const itemOf = ({ type, story }: ItemKind, at: number): Json => ({ type, id: `item_${at}`, ...story.item });
/** The item for clients: each has a status, even if its provider sends none. */
export const answerOf = (kind: ItemKind, at: number): Json => ({ ...done, ...itemOf(kind, at) });
export const eventsOf = (kind: ItemKind): readonly (readonly [string, Json])[] =>
  (kind.story.events ?? []).map(([name, payload]) => [`response.${name}`, payload ?? {}]);

/** A server's stream, the events of each item between its begin and its end. */
export function streamOf(chosen: readonly ItemKind[]): Json[] {
  let sequence = 0;
  const numbered = (event: Json): Json => ({ ...event, sequence_number: sequence++ });
  const items = chosen.map(itemOf);
  return [
    { type: "response.created", response: { status: "in_progress", output: [] } },
    { type: "response.in_progress", response: { status: "in_progress", output: [] } },
    ...chosen.flatMap((kind, at) => [
      itemAddedEvent(at, { type: kind.type, id: `item_${at}`, ...(kind.story.start ?? kind.story.item) }),
      ...eventsOf(kind).map(([type, payload]) => ({ type, output_index: at, item_id: `item_${at}`, ...payload })),
      ...(kind.story.waits === true ? [] : [itemDoneEvent(at, items[at] ?? {})]),
    ]),
    completedEvent(items),
  ].map(numbered);
}
