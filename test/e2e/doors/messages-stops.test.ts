/** Stop reasons of Anthropic's format pass unchanged through the messages door. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parseSse } from "../../support/answers/sse.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: t/claude, endpoints: [{provider: claude}]}
  - {id: t/chat, endpoints: [{provider: chatty}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const sendRequest = (body: object) =>
  fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: { "x-api-key": installation.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ max_tokens: 64, messages: [{ role: "user", content: "Hi" }], ...body }),
  });

interface Answer {
  readonly content: readonly object[];
  readonly stop_reason: string;
}

async function answerOf(body: object): Promise<Answer> {
  return (await (await sendRequest(body)).json()) as Answer;
}

async function lastDelta(body: object): Promise<unknown> {
  const { events } = parseSse(await (await sendRequest({ ...body, stream: true })).text());
  return events.find(({ type }) => type === "message_delta")?.["delta"];
}

const said = [{ type: "text", text: "Hello" }];
const reasons = [
  ["end_turn", {}],
  ["max_tokens", {}],
  ["stop_sequence", { stop_sequence: "END" }],
  ["pause_turn", {}],
  ["refusal", {}],
  ["model_context_window_exceeded", {}],
] as const;

test.each(reasons)(
  "the stop reason %s of a provider of Messages reaches the client unchanged",
  async (reason, more) => {
    const asked = { model: "t/claude", stop_sequences: ["END"] };
    const end = { stop_reason: reason, stop_sequence: null, ...more };
    upstream.script([claudeMessage(said, reason, more)]);
    expect(await answerOf(asked)).toMatchObject({ content: said, ...end });
    upstream.script([
      claudeStream(
        [
          [
            { type: "text", text: "" },
            { type: "text_delta", text: "Hello" },
          ],
        ],
        reason,
        more,
      ),
    ]);
    expect(await lastDelta(asked)).toMatchObject(end);
  },
);

test("a refusal at /messages has the words of the provider", async () => {
  const details = { type: "refusal", category: "bio", explanation: "Not this." };
  upstream.script([claudeMessage(said, "refusal", { stop_details: details })]);
  expect(await answerOf({ model: "t/claude" })).toMatchObject({
    stop_reason: "refusal",
    stop_details: { type: "refusal", category: "bio", explanation: "Not this." },
  });
});

test("usage at /messages has the reasoning tokens, the lifetimes of cache writes and the provider's tier", async () => {
  const usage = {
    input_tokens: 9,
    cache_creation_input_tokens: 5,
    cache_read_input_tokens: 2,
    cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 4 },
    output_tokens: 9,
    output_tokens_details: { thinking_tokens: 7 },
    service_tier: "standard",
  };
  upstream.script([claudeMessage(said, "end_turn", { usage })]);
  expect(await answerOf({ model: "t/claude" })).toMatchObject({ usage });
});

const chatReasons: readonly (readonly [finish: string, reason: string])[] = [
  ["stop", "end_turn"],
  ["length", "max_tokens"],
  ["content_filter", "refusal"],
  ["model_length", "model_context_window_exceeded"],
];

test.each(chatReasons)(
  "the finish reason %s of chat completions becomes the stop reason %s of Messages",
  async (finish, reason) => {
    upstream.script([chatAnswer({ role: "assistant", content: "Hello" }, finish)]);
    expect(await answerOf({ model: "t/chat" })).toMatchObject({ stop_reason: reason });
    const stream: Reply = { chunks: [{ sse: [chatChunk({ content: "Hello" }), chatChunk({}, finish), "[DONE]"] }] };
    upstream.script([stream]);
    expect(await lastDelta({ model: "t/chat" })).toMatchObject({ stop_reason: reason });
  },
);

test("a stop sequence named by a server of chat completions is returned at /messages", async () => {
  const named = {
    id: "c",
    choices: [{ index: 0, message: { content: "Hello" }, finish_reason: "stop", stop_reason: "END" }],
  };
  upstream.script([{ chunks: [{ json: named }] }]);
  expect(await answerOf({ model: "t/chat", stop_sequences: ["END"] })).toMatchObject({
    stop_reason: "stop_sequence",
    stop_sequence: "END",
  });
});

test("a provider's paused search has no result yet at /messages", async () => {
  const use = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Mars" } };
  upstream.script([claudeMessage([...said, use], "pause_turn")]);
  const tools = [{ type: "web_search_20250305", name: "web_search" }];
  const first = await answerOf({ model: "t/claude", tools });
  expect(first).toMatchObject({
    stop_reason: "pause_turn",
    content: [said[0], { type: "server_tool_use", name: "web_search", input: { query: "Mars" } }],
  });
  const messages = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: first.content },
  ];
  await answerOf({ model: "t/claude", tools, messages });
  expect(upstream.requests.at(-1)?.body).not.toContain("failed");
});
