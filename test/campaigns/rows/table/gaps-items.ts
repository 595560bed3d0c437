/** Rows of input items with earlier failures. */
import type { Row, RowDialect } from "../row.ts";
import { pixel } from "../services.ts";
import { requestWithHistory, requestWithParts, pngUrl, servicesOrigin } from "./asks.ts";

const call = { call_id: "c_1", status: "completed" };
const patch = { type: "update_file", path: "marker.txt", diff: "@@\n-a\n+b" };
const shell = { commands: ["cat marker.txt"] };

/** A row with history items of tools that only some formats know: providers of all formats must get their content. */
const told = (name: string, items: readonly object[], sent: RegExp, more: object = {}): Row => ({
  name: `2.3 ${name}`,
  cases: [{ ask: { ...requestWithHistory(...items), ...more }, sent }],
});

const serviceItem = (kind: string, fields: object, sent: RegExp): Row =>
  told(
    `server-tool output item service:${kind}`,
    [{ type: `service:${kind}`, id: "st_1", status: "completed", ...fields }],
    sent,
  );

const except = (...out: readonly RowDialect[]): readonly RowDialect[] =>
  (["chat", "responses", "messages", "gemini", "converse"] as const).filter((name) => !out.includes(name));

export const itemGaps: readonly Row[] = [
  told(
    "apply_patch_call + output",
    [
      { type: "apply_patch_call", id: "i_1", ...call, operation: patch },
      { type: "apply_patch_call_output", call_id: "c_1", status: "completed", output: "patched" },
    ],
    /marker\.txt.*patched/s,
    { tools: [{ type: "apply_patch" }] },
  ),
  told(
    "local_shell_call + output",
    [
      {
        type: "local_shell_call",
        id: "i_1",
        ...call,
        action: { type: "exec", command: ["cat", "marker.txt"], env: {} },
      },
      { type: "local_shell_call_output", id: "c_1", output: "printed" },
    ],
    /marker\.txt.*printed/s,
    { tools: [{ type: "local_shell" }] },
  ),
  told(
    "shell_call + output",
    [
      { type: "shell_call", id: "i_1", ...call, action: shell },
      {
        type: "shell_call_output",
        call_id: "c_1",
        output: [{ stdout: "printed", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
    ],
    /marker\.txt.*printed/s,
    { tools: [{ type: "shell" }] },
  ),
  told(
    "file_search_call",
    [{ type: "file_search_call", id: "i_1", status: "completed", queries: ["marker"] }],
    /marker/,
  ),
  told(
    "image_generation_call",
    [{ type: "image_generation_call", id: "i_1", status: "completed", result: pixel, prompt: "marker" }],
    /marker|image_generation/,
  ),
  told(
    "mcp_approval_request + response",
    [
      { type: "mcp_approval_request", id: "i_1", name: "marker", arguments: "{}", server_label: "s" },
      { type: "mcp_approval_response", approval_request_id: "i_1", approve: true },
    ],
    /marker/,
  ),
  told(
    "mcp_list_tools",
    [{ type: "mcp_list_tools", id: "i_1", server_label: "s", tools: [{ name: "marker", input_schema: {} }] }],
    /marker/,
  ),
  told(
    "web_search_call",
    [{ type: "web_search_call", id: "i_1", status: "completed", action: { type: "search", query: "marker" } }],
    /marker/,
  ),
  serviceItem("advisor", { prompt: "p", advice: "marker" }, /marker/),
  serviceItem("apply_patch", { call_id: "c_1", operation: patch }, /marker/),
  serviceItem("bash", { call_id: "c_1", command: "marker", stdout: "x", exitCode: 0 }, /marker/),
  serviceItem("browser_use", { action: "marker" }, /marker/),
  serviceItem("code_interpreter", { code: "marker", exitCode: 0 }, /marker/),
  serviceItem("file_search", { queries: ["marker"] }, /marker/),
  serviceItem(
    "files",
    { operation: "read", file_id: "marker", filename: "marker", call_id: "c_1", arguments: "{}" },
    /marker/,
  ),
  serviceItem("image_generation", { prompt: "marker", result: pixel }, /marker/),
  serviceItem("mcp", { serverLabel: "s", toolName: "marker" }, /marker/),
  serviceItem("memory", { action: "read", key: "marker", value: "v" }, /marker/),
  serviceItem("shell", { call_id: "c_1", action: shell, output: [{ stdout: "x" }] }, /marker/),
  serviceItem("subagent", { call_id: "c_1", task_name: "marker", outcome: "o" }, /marker/),
  serviceItem("text_editor", { command: "view", filePath: "marker" }, /marker/),
  serviceItem("tool_search", { query: "marker" }, /marker/),
  {
    name: "2.3 input_audio",
    final: "the formats messages and converse have no words for sounds",
    cases: [
      {
        ask: requestWithParts({ type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }),
        on: except("messages", "converse"),
        sent: /UklGRg==/,
      },
      {
        ask: requestWithParts({ type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } }),
        on: ["messages", "converse"],
        refused: [400, /^input\.0\.content\.0: .*audio/],
      },
    ],
  },
  {
    name: "2.3 input_video",
    final: "the format messages has no words for videos, and converse none for those at an address",
    cases: [
      {
        ask: requestWithParts({ type: "input_video", video_url: "https://a.example/v.mp4" }),
        on: except("messages", "converse"),
        sent: /a\.example\/v\.mp4/,
      },
      {
        ask: requestWithParts({ type: "input_video", video_url: "data:video/mp4;base64,AAAAGGZ0eXA=" }),
        on: ["converse", "gemini"],
        sent: /AAAAGGZ0eXA=/,
      },
      {
        ask: requestWithParts({ type: "input_video", video_url: "https://a.example/v.mp4" }),
        on: ["messages", "converse"],
        refused: [400, /^input\.0\.content\.0: .*video/],
      },
    ],
  },
  {
    name: "2.3 input_file (file_url)",
    cases: [
      {
        ask: requestWithParts({ type: "input_file", file_url: `${servicesOrigin}/page/cup.pdf` }),
        sent: /cup\.pdf|Cup notes of the PDF/,
      },
    ],
  },
  {
    name: "2.3 input_image (file_id)",
    final: "the formats chat, gemini and converse have no words for stored images",
    cases: [
      {
        ask: requestWithParts({ type: "input_image", file_id: "file_1" }),
        on: ["responses", "messages"],
        sent: /file_1/,
      },
      {
        ask: requestWithParts({ type: "input_image", file_id: "file_1" }),
        on: except("responses", "messages"),
        refused: [400, /^input\.0\.content\.0: no provider of this model takes images/],
      },
    ],
  },
  {
    name: "2.3 input_image (https url)",
    cases: [
      {
        ask: requestWithParts({ type: "input_image", image_url: `${servicesOrigin}/page/cup.png` }),
        sent: /page\/cup\.png/,
        sentBy: { converse: /"bytes":/ },
      },
      { ask: requestWithParts({ type: "input_image", image_url: pngUrl }), sent: /iVBORw0KGgo/ },
    ],
  },
];
