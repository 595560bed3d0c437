/** Unchanged @anthropic-ai/sdk against the messages door, over providers of several formats. */
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;
let client: Anthropic;

const config = (url: string) => `
providers:
  - {id: claude, dialect: messages, base_url: "${url}/v1", api_keys: [k]}
  - {id: chatty, dialect: chat, base_url: "${url}/v1", api_keys: [k]}
  - {id: open, dialect: responses, base_url: "${url}/v1", api_keys: [k]}
models:
  - id: t/claude
    max_output_tokens: 4096
    endpoints: [{provider: claude, upstream_model: m}]
  - {id: t/chat, endpoints: [{provider: chatty, upstream_model: m}]}
  - {id: t/open, endpoints: [{provider: open, upstream_model: m}]}
`;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({ config: config(upstream.url) });
  client = new Anthropic({
    baseURL: installation.baseUrl.replace(/\/v1$/, ""),
    apiKey: installation.apiKey,
    maxRetries: 0,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});
beforeEach(() => upstream.script([{}]));

const words = { messages: [{ role: "user" as const, content: "Hi" }], max_tokens: 64 };

const chatChunk = (delta: object, finish: string | null = null) => ({
  id: "c",
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const chatUsage = { id: "c", choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } };
const chatStream = (...chunks: readonly object[]) => ({
  chunks: [{ sse: [...chunks, chatUsage] }, { bytes: "data: [DONE]\n\n" }],
});

describe("text for the Anthropic SDK", () => {
  test("is whole", async () => {
    upstream.script([claudeMessage([{ type: "text", text: "Hello" }])]);
    const message = await client.messages.create({ ...words, model: "t/claude" });
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      model: "t/claude",
      content: [{ type: "text", text: "Hello" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    });
  });

  test("is streamed", async () => {
    upstream.script([
      chatStream(chatChunk({ role: "assistant", content: "Hel" }), chatChunk({ content: "lo" }, "stop")),
    ]);
    const stream = client.messages.stream({ ...words, model: "t/chat" });
    const deltas: string[] = [];
    stream.on("text", (delta) => deltas.push(delta));
    const message = await stream.finalMessage();
    expect(deltas).toEqual(["Hel", "lo"]);
    expect(message).toMatchObject({ content: [{ type: "text", text: "Hello" }], stop_reason: "end_turn" });
    expect(message.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });
});

test("the stream for the Anthropic SDK has its events in Anthropic's order", async () => {
  upstream.script([
    claudeStream([
      [
        { type: "text", text: "" },
        { type: "text_delta", text: "Hello" },
      ],
    ]),
  ]);
  const stream = await client.messages.create({ ...words, model: "t/claude", stream: true });
  const types: string[] = [];
  for await (const event of stream) types.push(event.type);
  expect(types).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
});

describe("tools and signed thinking go back to Anthropic unchanged:", () => {
  const tools: Anthropic.Tool[] = [
    {
      name: "weather",
      description: "Weather",
      input_schema: { type: "object", properties: { town: { type: "string" } } },
    },
  ];
  const settings = { ...words, model: "t/claude", max_tokens: 2_048, tools, thinking: { type: "adaptive" as const } };
  const first = [
    [
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "Let me see." },
      { type: "signature_delta", signature: "c2ln" },
    ],
    [{ type: "redacted_thinking", data: "aGlkZGVu" }],
    [
      { type: "text", text: "" },
      { type: "text_delta", text: "I look." },
    ],
    [
      { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
      { type: "input_json_delta", partial_json: '{"town": "Os' },
      { type: "input_json_delta", partial_json: 'lo"}' },
    ],
  ] as const;

  test("the requests of a conversation keep the same prefix", async () => {
    upstream.script([claudeStream(first, "tool_use"), claudeMessage([{ type: "text", text: "Clear." }])]);
    const message = await client.messages.stream(settings).finalMessage();
    expect(message.stop_reason).toBe("tool_use");
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "Let me see.", signature: "c2ln" },
      { type: "redacted_thinking", data: "aGlkZGVu" },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "toolu_1", name: "weather", input: { town: "Oslo" } },
    ]);
    const result = { type: "tool_result" as const, tool_use_id: "toolu_1", content: "clear", is_error: true };
    const second = await client.messages.create({
      ...settings,
      messages: [
        ...words.messages,
        { role: "assistant", content: message.content },
        { role: "user", content: [result] },
      ],
    });
    expect(second.content).toMatchObject([{ type: "text", text: "Clear." }]);
    const [one, two] = upstream.requests.slice(-2).map(({ json }) => json as { messages: object[] });
    const { messages: before, ...head } = one ?? { messages: [] };
    const { messages: after, ...sameHead } = two ?? { messages: [] };
    expect({ ...sameHead, stream: true }).toEqual(head);
    expect(after.slice(0, 1)).toEqual(before);
    expect(after.slice(1)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Let me see.", signature: "c2ln" },
          { type: "redacted_thinking", data: "aGlkZGVu" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "toolu_1", name: "weather", input: { town: "Oslo" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "clear" }], is_error: true },
        ],
      },
    ]);
  });
});

describe("tokens counted for the Anthropic SDK", () => {
  const tools: Anthropic.Tool[] = [{ name: "weather", input_schema: { type: "object", properties: {} } }];

  test("are those of a prompt, without a provider and while many streams run", async () => {
    const before = upstream.requests.length;
    const count = (text: string) =>
      client.messages.countTokens({ model: "t/claude", tools, messages: [{ role: "user", content: text }] });
    const counts = await Promise.all(Array.from({ length: 80 }, (_, index) => count("word ".repeat(100 * index + 1))));
    const [short = 0, ...longer] = counts.map(({ input_tokens }) => input_tokens);
    expect(short).toBeGreaterThan(10);
    expect(longer.at(-1)).toBeGreaterThan(7_000);
    expect(longer.toSorted((one, other) => one - other)).toEqual(longer);
    expect(upstream.requests).toHaveLength(before);
  });

  test("are estimated at the beginning of a stream, before the provider's count", async () => {
    upstream.script([chatStream(chatChunk({ role: "assistant", content: "Hello" }, "stop"))]);
    const long = { role: "user" as const, content: "word ".repeat(1_000) };
    const stream = await client.messages.create({ ...words, messages: [long], model: "t/chat", stream: true });
    const inputs: unknown[] = [];
    for await (const event of stream) {
      if (event.type === "message_start") inputs.push(event.message.usage.input_tokens);
      if (event.type === "message_delta") inputs.push(event.usage.input_tokens);
    }
    expect(inputs).toEqual([1_255, 11]);
  });

  test("are lowered to the maximum of a model", async () => {
    upstream.script([claudeMessage([{ type: "text", text: "Hello" }])]);
    const asked = client.messages.create({ ...words, max_tokens: 128_000, model: "t/claude" }, { timeout: 30_000 });
    expect(await asked).toMatchObject({ stop_reason: "end_turn" });
    expect(upstream.requests.at(-1)?.json).toMatchObject({ max_tokens: 4_096 });
  });
});

describe("errors for the Anthropic SDK", () => {
  const asked = (body: object) => client.messages.create({ ...words, model: "t/claude", ...body } as never);

  test("have the name of the field", async () => {
    await expect(
      asked({ messages: [{ role: "user", content: [{ type: "image", source: { type: "base64" } }] }] }),
    ).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
      message: expect.stringContaining("messages.0.content.0.source.media_type: required"),
    });
  });

  test("refuse a thread with the message after which the SDK continues without a thread", async () => {
    await expect(asked({ thread: { type: "create" } })).rejects.toMatchObject({
      status: 400,
      error: {
        error: { details: { error_code: "thread_unsupported_request", unsupported: ["thread"] } },
        request_id: expect.stringMatching(/^req_/),
      },
    });
  });

  test("report a wrong key as an authentication error", async () => {
    const stranger = new Anthropic({
      baseURL: installation.baseUrl.replace(/\/v1$/, ""),
      apiKey: "sk-none",
      maxRetries: 0,
    });
    await expect(stranger.messages.create({ ...words, model: "t/claude" })).rejects.toMatchObject({
      status: 401,
      type: "authentication_error",
    });
  });

  test("report an unknown model as not found", async () => {
    await expect(asked({ model: "t/none" })).rejects.toMatchObject({ status: 404, type: "not_found_error" });
  });
});
