/** The time to read a streamed text, reasoning or call grows linearly with its length, in every format. */
import { describe, expect, test } from "@jest/globals";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import type { Dialect } from "@sluice/inference-svc/models/upstream/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import { isLinear } from "../../../support/clock.ts";
import { testRequest, functionTool } from "../../asking.js";

const piece = "x".repeat(4_096);

/** The events before the pieces of an answer, and the event of one piece. */
type Stream = readonly [first: readonly object[], repeated: object];

const choice = (delta: object) => ({ choices: [{ index: 0, delta }] });
const chatCall = (fields: object, more: object = {}) =>
  choice({ tool_calls: [{ index: 0, ...more, function: fields }] });
const chatBegun = chatCall({ name: "f", arguments: '{"a":"' }, { id: "c" });

const block = (start: object, delta: object): Stream => [
  [
    { type: "message_start", message: { id: "m", usage: {} } },
    { type: "content_block_start", index: 0, content_block: start },
  ],
  { type: "content_block_delta", index: 0, delta },
];

const item = (added: object, type: string, place: object): Stream => [
  [{ type: "response.output_item.added", output_index: 0, item: added }],
  { type: `response.${type}.delta`, output_index: 0, item_id: "i", delta: piece, ...place },
];

const cohereDelta = (message: object) => ({ delta: { message } });
const part = (fields: object) => ({ candidates: [{ content: { parts: [fields] } }] });

const streams: readonly (readonly [name: string, dialect: Dialect, stream: Stream])[] = [
  ["chat: a text", chat, [[], choice({ content: piece })]],
  ["chat: a thought", chat, [[], choice({ reasoning_content: piece })]],
  ["chat: a refusal", chat, [[], choice({ refusal: piece })]],
  ["chat: arguments", chat, [[chatBegun], chatCall({ arguments: piece })]],
  ["chat: arguments in pieces with braces", chat, [[chatBegun], chatCall({ arguments: `{${piece}}` })]],
  ["chat: arguments with another id", chat, [[chatBegun], chatCall({ arguments: `{${piece}}` }, { id: "d" })]],
  [
    "chat: arguments with braces that repeat name and id",
    chat,
    [[chatBegun], chatCall({ name: "f", arguments: `{${piece}}` }, { id: "c" })],
  ],
  ["chat: arguments that repeat name and id", chat, [[], chatCall({ name: "f", arguments: piece }, { id: "c" })]],
  ["chat: arguments without a name", chat, [[], chatCall({ arguments: piece }, { id: "c" })]],
  ["messages: a text", messages, block({ type: "text", text: "" }, { type: "text_delta", text: piece })],
  ["messages: a thought", messages, block({ type: "thinking" }, { type: "thinking_delta", thinking: piece })],
  [
    "messages: arguments",
    messages,
    block({ type: "tool_use", id: "t", name: "f", input: {} }, { type: "input_json_delta", partial_json: piece }),
  ],
  [
    "responses: a thought",
    responses,
    item({ type: "reasoning", id: "i", summary: [] }, "reasoning_summary_text", { summary_index: 0 }),
  ],
  [
    "responses: arguments",
    responses,
    item({ type: "function_call", id: "i", call_id: "c", name: "f", arguments: "" }, "function_call_arguments", {}),
  ],
  [
    "cohere: arguments",
    cohere,
    [
      [
        { type: "message-start" },
        {
          type: "tool-call-start",
          index: 0,
          ...cohereDelta({ tool_calls: { id: "c", type: "function", function: { name: "f", arguments: "" } } }),
        },
      ],
      { type: "tool-call-delta", index: 0, ...cohereDelta({ tool_calls: { function: { arguments: piece } } }) },
    ],
  ],
  ["gemini: a text", gemini, [[], part({ text: piece })]],
  ["gemini: a thought", gemini, [[], part({ text: piece, thought: true })]],
];

const target = { upstreamModel: "m", tier: "default", original: false };
const request = testRequest({ stream: true, tools: [functionTool()] });

describe.each(streams)("a long answer of %s", (_name, dialect, [first, repeated]) => {
  const typeOf = (event: object) => (event as { readonly type?: string }).type;

  test("takes time linear in its length to read", async () => {
    const read = (pieces: number) => {
      let events = 0;
      const translator = dialect.open(request, target, () => void events++);
      for (const event of first) translator.event(typeOf(event), JSON.stringify(event));
      const text = JSON.stringify(repeated);
      for (let count = 0; count < pieces; count++) translator.event(typeOf(repeated), text);
      return events;
    };
    expect(await isLinear(250, read)).toBe(true);
  });
});
