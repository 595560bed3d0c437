/** How servers end their answers: a certainly whole answer is accepted, a possibly truncated one is a failure. */
import { describe, expect, test } from "@jest/globals";
import { chatChunk } from "../../../support/providers/upstream.js";
import {
  type OddServerOptions,
  runAgainstServer,
  bytesReply,
  greetingChunk,
  outcomeOf,
  readItems,
  stopChunk,
} from "./odd-server.js";

const event = (value: unknown): string => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
const done = event("[DONE]");
const counted = (prompt_tokens: number, completion_tokens: number) => ({ prompt_tokens, completion_tokens });
const called = (json: string) =>
  chatChunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: json } }] });
const wholeChat = (more: object, message: object = { role: "assistant", content: "Hi" }) =>
  JSON.stringify({ choices: [{ index: 0, message, ...more }], usage: counted(3, 1) });
const gemini = (more: object = {}) =>
  JSON.stringify({ candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, ...more }] });
const claude = (more: object = {}) =>
  JSON.stringify({ type: "message", role: "assistant", content: [{ type: "text", text: "Hi" }], ...more });

const typeOf = (text: string): string => (text.startsWith("{") ? "application/json" : "text/event-stream");

describe("an answer of a chat server is complete", () => {
  test.each<[string, string, OddServerOptions]>([
    ["[DONE] without a finish reason", event(greetingChunk) + done, {}],
    [
      "[DONE] after usage, without a finish reason",
      event(greetingChunk) + event({ choices: [], usage: counted(3, 1) }) + done,
      {},
    ],
    ["[DONE] without a line feed", `${event(greetingChunk)}data: [DONE]`, {}],
    ["a last event without a line feed", `${event(greetingChunk)}data: ${JSON.stringify(stopChunk)}`, {}],
    ["a JSON body whose finish reason is absent", wholeChat({}), {}],
    ["a JSON body whose finish reason is null", wholeChat({ finish_reason: null }), {}],
    ["a JSON body whose finish reason is empty", wholeChat({ finish_reason: "" }), {}],
    ["a JSON body of Gemini without a finish reason", gemini(), { dialect: "gemini" }],
    ["a JSON body of Anthropic with null", claude({ stop_reason: null }), { dialect: "messages" }],
    ["a JSON body of Anthropic without a reason", claude(), { dialect: "messages" }],
  ])("with %s", async (_, text, options) => {
    const ending = await runAgainstServer(bytesReply(text, typeOf(text)), options);
    expect([readItems(ending), outcomeOf(ending).status]).toEqual([["Hi"], "completed"]);
  });

  test("with a whole call, then [DONE] without a finish reason", async () => {
    const ending = await runAgainstServer(bytesReply(event(called('{"a":1}')) + done));
    expect(readItems(ending)).toEqual([{ call: "f", arguments: '{"a":1}' }]);
    expect(outcomeOf(ending).status).toBe("completed");
  });
});

describe("an answer of a chat server is a failure, because it may be truncated,", () => {
  test.each<[string, string, string, OddServerOptions]>([
    ["the end of the connection alone", event(greetingChunk), "Provider connection lost", {}],
    ["half of a last event", `${event(greetingChunk)}data: {"choices":[{"delta":`, "Provider connection lost", {}],
    ["half of a call, then [DONE]", event(called('{"a":')) + done, "Provider connection lost", {}],
    ["[DONE] after a role alone", event(chatChunk({ role: "assistant" })) + done, "Provider returned error", {}],
    ["[DONE] alone", done, "Provider returned error", {}],
    ["an object without an answer", '{"detail":"Not Found"}', "Provider returned error", {}],
    ["no choices", '{"choices":[]}', "Provider returned error", {}],
    ["a message without content", wholeChat({}, { content: null }), "Provider returned error", {}],
    ["Gemini's stream without a reason", event(gemini()), "Provider connection lost", { dialect: "gemini" }],
  ])("with %s", async (_, text, message, options) => {
    const { fault } = await runAgainstServer(bytesReply(text, typeOf(text)), options);
    expect(fault?.message).toBe(message);
  });
});

// Reports of SGLang and of servers of Anthropic's format: the last token counts of a stream are all zeros.
test.each([
  [
    "chat",
    event(greetingChunk) +
      event(stopChunk) +
      event({ choices: [], usage: counted(9, 5) }) +
      event({ choices: [], usage: counted(0, 0) }) +
      done,
  ],
  [
    "messages",
    [
      { type: "message_start", message: { content: [], usage: { input_tokens: 9, output_tokens: 1 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { input_tokens: 0, output_tokens: 5 } },
      { type: "message_stop" },
    ]
      .map(event)
      .join(""),
  ],
  [
    "gemini",
    [{}, { finishReason: "STOP" }]
      .map((more, index) =>
        event({
          ...(JSON.parse(gemini(more)) as object),
          usageMetadata: index === 0 ? { promptTokenCount: 9, candidatesTokenCount: 5 } : { promptTokenCount: 0 },
        }),
      )
      .join(""),
  ],
])("zeros at the end of a stream of %s do not replace an earlier token count", async (dialect, text) => {
  const outcome = outcomeOf(await runAgainstServer(bytesReply(text), { dialect }));
  expect(outcome.usage).toMatchObject({ inputTokens: 9, outputTokens: 5 });
});
