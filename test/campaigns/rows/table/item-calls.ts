/** SPEC 2.3: items of calls and their outputs, each sent to providers of every format. */
import type { Row } from "../row.ts";
import { pixel } from "../services.ts";
import { exampleFunction, greetingMessage, requestWithHistory, pdfFile, textPart } from "./asks.ts";
import {
  completedCall,
  itemRow,
  markedCall,
  markedOutput,
  pngImage,
  refusedInput,
  forwardedItemsRow,
} from "./item-asks.ts";

const c1 = { type: "custom_tool_call", id: "i_1", ...completedCall, name: "c", input: "marker37" };
const custom = { tools: [{ type: "custom", name: "c" }] };
export const callItemRows: readonly Row[] = [
  forwardedItemsRow("function_call + output", [markedCall, markedOutput], /marker37.*result37/s, {
    tools: [exampleFunction],
  }),
  forwardedItemsRow("function_call + output, the tool is gone", [markedCall, markedOutput], /marker37.*result37/s),
  itemRow("function_call_output: parts", {
    ask: {
      ...requestWithHistory(markedCall, { ...markedOutput, output: [textPart("result37")] }),
      tools: [exampleFunction],
    },
    sent: /result37/,
  }),
  itemRow("function_call_output: image", {
    ask: {
      ...requestWithHistory(markedCall, { ...markedOutput, output: [textPart("result37"), pngImage] }),
      tools: [exampleFunction],
    },
    sent: /iVBORw0KGgo/,
  }),
  itemRow("function_call_output: file", {
    ask: {
      ...requestWithHistory(markedCall, { ...markedOutput, output: [textPart("result37"), pdfFile] }),
      tools: [exampleFunction],
    },
    sent: /JVBERi0|Cup notes/,
  }),
  forwardedItemsRow(
    "two function calls at once",
    [
      markedCall,
      { ...markedCall, id: "i_2", call_id: "c_2", arguments: '{"a":"second37"}' },
      markedOutput,
      { ...markedOutput, call_id: "c_2" },
    ],
    /marker37.*second37/s,
    { tools: [exampleFunction] },
  ),
  forwardedItemsRow("function_call: namespace", [{ ...markedCall, namespace: "n" }, markedOutput], /marker37/, {
    tools: [{ type: "namespace", name: "n", description: "d", tools: [exampleFunction] }],
  }),
  forwardedItemsRow("function_call: async", [{ ...markedCall, async: true }, markedOutput], /marker37/, {
    tools: [{ ...exampleFunction, async: true }],
  }),
  refusedInput("function_call_output without its call", [greetingMessage, markedOutput], /c_1|call_id/),
  refusedInput(
    "function_call without a name",
    [greetingMessage, { ...markedCall, name: undefined }],
    /^input\.1\.name/,
  ),
  forwardedItemsRow(
    "custom_tool_call + output",
    [c1, { type: "custom_tool_call_output", call_id: "c_1", output: "result37" }],
    /marker37.*result37/s,
    custom,
  ),
  forwardedItemsRow(
    "custom_tool_call_output: parts",
    [c1, { type: "custom_tool_call_output", call_id: "c_1", output: [textPart("result37")] }],
    /result37/,
    custom,
  ),
  forwardedItemsRow(
    "apply_patch_call: create_file",
    [
      {
        type: "apply_patch_call",
        id: "i_1",
        ...completedCall,
        operation: { type: "create_file", path: "marker37", diff: "+a" },
      },
      { type: "apply_patch_call_output", call_id: "c_1", status: "completed" },
    ],
    /marker37/,
    { tools: [{ type: "apply_patch" }] },
  ),
  forwardedItemsRow(
    "apply_patch_call: delete_file",
    [
      { type: "apply_patch_call", id: "i_1", ...completedCall, operation: { type: "delete_file", path: "marker37" } },
      { type: "apply_patch_call_output", call_id: "c_1", status: "failed", output: "gone37" },
    ],
    /marker37.*gone37/s,
    { tools: [{ type: "apply_patch" }] },
  ),
  forwardedItemsRow(
    "shell_call_output: timeout",
    [
      { type: "shell_call", id: "i_1", ...completedCall, action: { commands: ["marker37"] } },
      {
        type: "shell_call_output",
        call_id: "c_1",
        output: [{ stdout: "", stderr: "slow37", outcome: { type: "timeout" } }],
      },
    ],
    /marker37.*slow37/s,
    { tools: [{ type: "shell" }] },
  ),
  forwardedItemsRow(
    "computer_call + output",
    [
      {
        type: "computer_call",
        id: "i_1",
        ...completedCall,
        action: { type: "click", x: 37, y: 2 },
        pending_safety_checks: [],
      },
      {
        type: "computer_call_output",
        call_id: "c_1",
        output: { type: "computer_screenshot", image_url: `data:image/png;base64,${pixel}` },
      },
    ],
    /37.*iVBORw0KGgo/s,
    { tools: [{ type: "computer" }] },
  ),
  forwardedItemsRow(
    "tool_search_call + output",
    [
      { type: "tool_search_call", id: "i_1", ...completedCall, arguments: { query: "marker37" }, execution: "client" },
      {
        type: "tool_search_output",
        call_id: "c_1",
        tools: [{ ...exampleFunction, name: "found37" }],
        execution: "client",
        status: "completed",
      },
    ],
    /found37|marker37/,
    { tools: [{ type: "tool_search" }, exampleFunction] },
  ),
  forwardedItemsRow(
    "mcp_call",
    [
      {
        type: "mcp_call",
        id: "i_1",
        status: "completed",
        name: "marker37",
        arguments: "{}",
        server_label: "s",
        output: "result37",
        error: null,
      },
    ],
    /marker37.*result37/s,
  ),
  forwardedItemsRow(
    "mcp_call: error",
    [
      {
        type: "mcp_call",
        id: "i_1",
        status: "failed",
        name: "marker37",
        arguments: "{}",
        server_label: "s",
        output: null,
        error: "broke37",
      },
    ],
    /broke37/,
  ),
  forwardedItemsRow(
    "code_interpreter_call",
    [
      {
        type: "code_interpreter_call",
        id: "i_1",
        status: "completed",
        code: "marker37",
        container_id: "ct",
        outputs: [{ type: "logs", logs: "result37" }],
      },
    ],
    /marker37/,
  ),
  forwardedItemsRow(
    "web_search_call: open_page",
    [
      {
        type: "web_search_call",
        id: "i_1",
        status: "completed",
        action: { type: "open_page", url: "https://a.example/marker37" },
      },
    ],
    /marker37/,
  ),
  forwardedItemsRow(
    "web_search_call: find_in_page",
    [
      {
        type: "web_search_call",
        id: "i_1",
        status: "completed",
        action: { type: "find_in_page", url: "https://a.example", pattern: "marker37" },
      },
    ],
    /marker37/,
  ),
  forwardedItemsRow(
    "file_search_call: results",
    [
      {
        type: "file_search_call",
        id: "i_1",
        status: "completed",
        queries: ["q"],
        results: [{ file_id: "f", text: "marker37" }],
      },
    ],
    /marker37/,
  ),
  forwardedItemsRow(
    "service:web_search item",
    [{ type: "service:web_search", id: "st_1", status: "completed", action: { type: "search", query: "marker37" } }],
    /marker37/,
  ),
  forwardedItemsRow(
    "service:web_fetch item",
    [
      {
        type: "service:web_fetch",
        id: "st_1",
        status: "completed",
        url: "https://a.example/marker37",
        content: "page37",
      },
    ],
    /marker37/,
  ),
  forwardedItemsRow(
    "service:datetime item",
    [
      {
        type: "service:datetime",
        id: "st_1",
        status: "completed",
        datetime: "2026-01-31T10:00:37+01:00",
        timezone: "Europe/Vienna",
      },
    ],
    /10:00:37/,
  ),
  forwardedItemsRow(
    "service:fusion item",
    [{ type: "service:fusion", id: "st_1", status: "completed", responses: [{ model: "a/b", content: "marker37" }] }],
    /marker37/,
  ),
  forwardedItemsRow(
    "service:search_models item",
    [
      {
        type: "service:search_models",
        id: "st_1",
        status: "completed",
        query: "marker37",
        arguments: '{"query":"marker37"}',
      },
    ],
    /marker37/,
  ),
];
