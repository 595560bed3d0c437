/** SPEC 2.3 and section C of the contract: input items and parts, each sent to providers of every format. */
import type { Row, RowDialect } from "../row.ts";
import {
  exampleFunction,
  greetingMessage,
  requestWithHistory,
  requestWithParts,
  pdfFile,
  textPart,
  userMessageOf,
} from "./asks.ts";
import { itemRow, markedCall, markedOutput, pngImage, refusedInput, forwardedItemsRow } from "./item-asks.ts";
import { callItemRows } from "./item-calls.ts";

/** A row of items that only their own provider can read. Other providers refuse them, since leaving them out would change the question. */
const sealed = (type: string): Row => ({
  name: `2.3 ${type}`,
  final: "only the provider that made it can read it",
  cases: [
    { ask: requestWithHistory({ type, encrypted_content: "sealed37" }), on: ["responses"], sent: /sealed37/ },
    {
      ask: requestWithHistory({ type, encrypted_content: "sealed37" }),
      on: ["chat", "messages", "gemini", "converse"],
      refused: [400, /^input\.1: no provider of this model takes items of type/],
    },
  ],
});

const outputText = (text: string) => ({ type: "output_text", text, annotations: [] });
const assistant = (...content: readonly object[]) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content,
});

const messages: readonly Row[] = [
  forwardedItemsRow("easy message: text", [{ role: "user", content: "marker37" }], /marker37/),
  forwardedItemsRow("easy message: type message", [{ type: "message", role: "user", content: "marker37" }], /marker37/),
  forwardedItemsRow("easy message: parts", [userMessageOf(textPart("marker37"))], /marker37/),
  forwardedItemsRow(
    "input message with id",
    [{ type: "message", id: "msg_2", role: "user", content: [textPart("marker37")] }],
    /marker37/,
  ),
  ...["system", "developer"].map((role) =>
    forwardedItemsRow(
      `message of role ${role}`,
      [{ type: "message", role, content: [textPart("marker37")] }],
      /marker37/,
    ),
  ),
  ...["commentary", "final_answer"].map((phase) =>
    forwardedItemsRow(
      `assistant message: phase ${phase}`,
      [{ role: "assistant", content: "marker37", phase }],
      /marker37/,
    ),
  ),
  forwardedItemsRow("output message: output_text", [assistant(outputText("marker37"))], /marker37/),
  forwardedItemsRow("output message: refusal", [assistant({ type: "refusal", refusal: "marker37" })], /marker37/),
  forwardedItemsRow("output message: content as text", [{ ...assistant(), content: "marker37" }], /marker37/),
  ...["completed", "incomplete", "in_progress"].map((status) =>
    forwardedItemsRow(
      `output message: status ${status}`,
      [{ ...assistant(outputText("marker37")), status }],
      /marker37/,
    ),
  ),
  itemRow("output message: content null", {
    ask: requestWithHistory({ ...assistant(), content: null }),
    back: { status: "completed" },
  }),
  forwardedItemsRow(
    "output message: annotations",
    [
      assistant({
        ...outputText("marker37"),
        annotations: [{ type: "url_citation", url: "https://a.example", title: "", start_index: 0, end_index: 1 }],
      }),
    ],
    /marker37/,
  ),
  refusedInput("message: unknown role", [{ role: "wizard", content: "x" }], /^input\.0\.role/),
  refusedInput("message: unknown part", [userMessageOf({ type: "input_smell" })], /^input\.0\.content\.0\.type/),
  refusedInput("message: part without text", [userMessageOf({ type: "input_text" })], /^input\.0\.content\.0\.text/),
];

const thought = { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "thought37" }] };
const formats = {
  "anthropic-claude-v1": "messages",
  "google-gemini-v1": "gemini",
  "openai-responses-v1": "responses",
} as const satisfies Record<string, RowDialect>;
const reasoning: readonly Row[] = [
  itemRow("reasoning: summary", {
    ask: requestWithHistory(thought, assistant(outputText("Hello"))),
    back: { status: "completed" },
  }),
  itemRow("reasoning: content", {
    ask: requestWithHistory(
      { ...thought, content: [{ type: "reasoning_text", text: "thought37" }] },
      assistant(outputText("Hello")),
    ),
    back: { status: "completed" },
  }),
  itemRow("reasoning: summary null", {
    ask: requestWithHistory({ ...thought, summary: null }, assistant(outputText("Hello"))),
    back: { status: "completed" },
  }),
  ...[
    "unknown",
    ...Object.keys(formats),
    "azure-openai-responses-v1",
    "bedrock-openai-responses-v1",
    "bedrock-xai-responses-v1",
    "xai-responses-v1",
    "meta-responses-v1",
  ].map((format) =>
    itemRow(`reasoning: format ${format}`, {
      ask: requestWithHistory({ ...thought, format, signature: "c2lnbmVk" }, assistant(outputText("Hello"))),
      back: { status: "completed" },
    }),
  ),
  itemRow("reasoning: thoughts of a provider go back to it", {
    ask: {
      ...requestWithHistory(
        {
          type: "reasoning",
          id: "rs_1",
          summary: [],
          content: [{ type: "reasoning_text", text: "thought37" }],
          format: "anthropic-claude-v1",
          signature: "c2lnbmVk",
        },
        markedCall,
        markedOutput,
      ),
      tools: [exampleFunction],
    },
    on: ["messages"],
    sent: {
      messages: [{ role: "assistant", content: [{ type: "thinking", thinking: "thought37", signature: "c2lnbmVk" }] }],
    },
  }),
  itemRow("reasoning: encrypted_content goes back to the provider", {
    ask: requestWithHistory({ ...thought, encrypted_content: "sealed37" }, assistant(outputText("Hello"))),
    on: ["responses"],
    sent: /sealed37/,
  }),
];

const others: readonly Row[] = [
  sealed("compaction"),
  sealed("context_compaction"),
  refusedInput(
    "item_reference to what is nowhere",
    [greetingMessage, { type: "item_reference", id: "gone" }],
    /^input\.1\.id: names no earlier item/,
  ),
  itemRow("item_reference to an item of the input", {
    ask: {
      input: [
        { type: "message", id: "msg_7", role: "user", content: [textPart("marker37")] },
        { type: "item_reference", id: "msg_7" },
      ],
    },
    sent: /marker37/,
  }),
  forwardedItemsRow(
    "additional_tools",
    [{ type: "additional_tools", role: "developer", tools: [{ ...exampleFunction, name: "more37" }] }],
    /more37/,
  ),
  forwardedItemsRow(
    "agent_message",
    [{ type: "agent_message", author: "a", recipient: "b", content: [textPart("marker37")] }],
    /marker37/,
  ),
  itemRow("configuration_update", {
    ask: requestWithHistory({ type: "configuration_update", reasoning: { effort: "low" } }),
    back: { status: "completed" },
  }),
  refusedInput(
    "two configuration updates in a row",
    [
      greetingMessage,
      { type: "configuration_update", reasoning: { effort: "low" } },
      { type: "configuration_update", reasoning: { effort: "high" } },
    ],
    /^input\.2|configuration_update/,
  ),
  refusedInput(
    "an item of an unknown type",
    [greetingMessage, { type: "dream" }],
    /^input\.1\.type: unknown type dream/,
  ),
];

const parts: readonly Row[] = [
  ...["auto", "low", "high", "original"].map((detail) =>
    itemRow(`input_image: detail ${detail}`, {
      ask: requestWithParts(textPart("Look"), { ...pngImage, detail }),
      sent: /iVBORw0KGgo/,
    }),
  ),
  refusedInput("input_image: without an image", [userMessageOf({ type: "input_image" })], /^input\.0\.content\.0/),
  itemRow("input_file: file_data", { ask: requestWithParts(textPart("Read"), pdfFile), sent: /JVBERi0|Cup notes/ }),
  itemRow("input_file: text file", {
    ask: requestWithParts(textPart("Read"), {
      type: "input_file",
      filename: "a.txt",
      file_data: `data:text/plain;base64,${Buffer.from("marker37").toString("base64")}`,
    }),
    sent: /marker37|bWFya2VyMzc=/,
  }),
  itemRow("input_file: file_id", {
    ask: requestWithParts(textPart("Read"), { type: "input_file", file_id: "file_37" }),
    on: ["responses", "messages", "chat"],
    sent: /file_37/,
  }),
  ...["mp3", "wav"].map((format) =>
    itemRow(`input_audio: format ${format}`, {
      ask: requestWithParts({ type: "input_audio", input_audio: { data: "UklGRg==", format } }),
      on: ["chat", "responses", "gemini"],
      sent: /UklGRg==/,
    }),
  ),
  refusedInput(
    "input_audio: unknown format",
    [userMessageOf({ type: "input_audio", input_audio: { data: "UklGRg==", format: "ogg" } })],
    /format/,
  ),
  ...["agentic", "static"].map((processing) =>
    itemRow(`input_video: processing ${processing}`, {
      ask: requestWithParts({ type: "input_video", video_url: "https://a.example/v37.mp4", processing }),
      on: ["gemini", "chat"],
      sent: /v37\.mp4/,
    }),
  ),
];

export const itemRows: readonly Row[] = [...messages, ...reasoning, ...callItemRows, ...others, ...parts];
