/**
 * Tools of Anthropic's format at the messages door: tools that neither Sluice nor the provider can run, client tools with dated types, and cache
 * marks on them.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseSse } from "../../support/answers/sse.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage } from "../../support/providers/anthropic.ts";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";

let upstream: Upstream;
let installation: Installation;

const config = (url: string) => `
providers:
  - {id: claude, dialect: messages, base_url: "${url}/v1"}
  - {id: chatty, dialect: chat, base_url: "${url}/v1"}
  - {id: open, dialect: responses, base_url: "${url}/v1"}
models:
  - id: t/claude
    input_modalities: [text, image]
    endpoints: [{provider: claude, supported_parameters: [tools, tool_choice, stop, anthropic_betas]}]
  - {id: t/other, endpoints: [{provider: claude, supported_parameters: [tools, tool_choice]}]}
  - {id: t/chat, endpoints: [{provider: chatty}]}
  - {id: t/open, endpoints: [{provider: open}]}
`;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({ config: config(upstream.url) });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});
beforeEach(() => upstream.script([claudeMessage([{ type: "text", text: "Hello" }])]));

const sendRequest = (body: object) =>
  fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: { "x-api-key": installation.apiKey, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify({ max_tokens: 64, messages: [{ role: "user", content: "Hi" }], ...body }),
  });

interface Answer {
  readonly content: readonly { readonly type: string }[];
  readonly stop_reason: string;
  readonly service_metadata?: {
    readonly params: {
      readonly not_sent?: readonly { readonly path: string }[];
      readonly unknown_fields?: readonly { readonly name: string }[];
    };
  };
}

async function answerOf(body: object): Promise<Answer> {
  const response = await sendRequest(body);
  const json = (await response.json()) as Answer;
  expect([response.status, json]).toEqual([200, expect.any(Object)]);
  return json;
}

const sent = () => upstream.requests.at(-1)?.json ?? {};
function pathsOf({ service_metadata: receipt }: Answer): readonly string[] {
  const { not_sent: notSent = [], unknown_fields: unknown = [] } = receipt?.params ?? {};
  return [...notSent.map(({ path }) => path), ...unknown.map(({ name }) => name)];
}

describe("a tool that neither Sluice nor the provider can run fails in the block of its result:", () => {
  const search = { type: "web_search_20250305", name: "web_search" };
  const code = { type: "code_execution_20250825", name: "code_execution" };
  const cases = [
    [search, "web_search", { query: "Moons of Mars" }, "web_search"],
    [code, "code_interpreter", { code: "print(1)" }, "code_execution"],
    [
      { type: "web_fetch_20250910", name: "web_fetch" },
      "service_web_fetch",
      { url: "http://127.0.0.1:9/page" },
      "web_fetch",
    ],
  ] as const;

  test.each(cases)("%j", async (tool, name, args, kind) => {
    upstream.script([callReply({ name, args }), textReply("I could not.")]);
    const { content, stop_reason } = await answerOf({ model: "t/chat", tools: [tool], tool_choice: { type: "auto" } });
    const error = { type: `${kind}_tool_result_error`, error_code: "unavailable" };
    expect(content).toMatchObject([
      { type: "server_tool_use", name: kind, input: args },
      { type: `${kind}_tool_result`, content: error },
      { type: "text", text: "I could not." },
    ]);
    expect(stop_reason).toBe("end_turn");
  });

  test.each(cases)("%j, in a stream", async (tool, name, args, kind) => {
    upstream.script([callReplyStream("", { name, args }), chatStream("I could not.")]);
    const { events } = parseSse(await (await sendRequest({ model: "t/chat", tools: [tool], stream: true })).text());
    const blocks = events.flatMap((event) => ("content_block" in event ? [event["content_block"]] : []));
    expect(blocks).toMatchObject([
      { type: "server_tool_use", name: kind },
      { type: `${kind}_tool_result`, content: { error_code: "unavailable" } },
      { type: "text" },
    ]);
  });

  test("with a forced search", async () => {
    upstream.script([callReply({ name: "web_search", args: { query: "x" } }), textReply("No.")]);
    const choice = { type: "tool", name: "web_search" };
    const { content } = await answerOf({ model: "t/chat", tools: [search], tool_choice: choice });
    expect(content.map(({ type }) => type)).toEqual(["server_tool_use", "web_search_tool_result", "text"]);
  });

  test("a search that the provider can run is left to the provider", async () => {
    await answerOf({ model: "t/claude", tools: [search] });
    expect(sent()).toMatchObject({ tools: [search] });
  });
});

describe("client tools with a dated type at /messages", () => {
  const typed = [
    { type: "bash_20250124", name: "bash" },
    { type: "text_editor_20250728", name: "str_replace_based_edit_tool", max_characters: 9_000 },
    {
      type: "computer_20250124",
      name: "computer",
      display_width_px: 1_024,
      display_height_px: 768,
      display_number: 1,
    },
    { type: "memory_20250818", name: "memory" },
  ];

  test("are sent unchanged to endpoints with support for Anthropic's betas", async () => {
    const call = { type: "tool_use", id: "toolu_1", name: "bash", input: { command: "ls" } };
    upstream.script([claudeMessage([call], "tool_use")]);
    const marked = [...typed.slice(0, -1), { ...typed.at(-1), cache_control: { type: "ephemeral" } }];
    const answer = await answerOf({ model: "t/claude", tools: marked });
    expect(sent()["tools"]).toEqual(marked);
    expect(answer).toMatchObject({ content: [call], stop_reason: "tool_use" });
    expect(pathsOf(answer)).toEqual([]);
  });

  test.each(["t/other", "t/chat"])("become functions at other endpoints, with a note: %s", async (model) => {
    if (model === "t/chat") upstream.script([textReply("Hello")]);
    const answer = await answerOf({ model, tools: typed });
    expect(sent()["tools"]).toHaveLength(typed.length);
    expect(JSON.stringify(sent()["tools"])).not.toContain("_2025");
    expect(pathsOf(answer)).toEqual(typed.map((_, index) => `tools.${index}.type`));
  });
});

describe("cache marks at /messages", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const long = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: "object" }, ...more });
  const text = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
  const image = { type: "image", source: { type: "url", url: "https://a.example/a.png" } };
  const call = { type: "tool_use", id: "toolu_1", name: "a", input: {} };
  const result = { type: "tool_result", tool_use_id: "toolu_1" };

  test.each([
    ["tools", { tools: [tool("a"), tool("b", long)] }],
    ["system", { system: [text("Be brief."), text("Be kind.", mark)] }],
    ["text of the user", { messages: [{ role: "user", content: [text("Hi", mark), text("there")] }] }],
    ["an image", { messages: [{ role: "user", content: [{ ...image, ...mark }, text("What is it?")] }] }],
    [
      "an answer",
      {
        messages: [
          { role: "user", content: [text("Hi")] },
          { role: "assistant", content: [text("Yes?", mark)] },
          { role: "user", content: [text("Go on.")] },
        ],
      },
    ],
  ])("on %s stay in place", async (_, fields) => {
    await answerOf({ model: "t/claude", ...fields });
    expect(sent()).toMatchObject(fields);
  });

  // Anthropic answers 400 to a mark inside of a result: "Instead, place it directly on tool_result".
  test.each([
    ["the result", { ...result, content: "1", ...mark }],
    ["a part of the result", { ...result, content: [text("1", mark)] }],
  ])("on a call and on %s are sent on the blocks", async (_, marked) => {
    const messages = [
      { role: "user", content: [text("Hi")] },
      { role: "assistant", content: [{ ...call, ...mark }] },
      { role: "user", content: [marked] },
    ];
    const answer = await answerOf({ model: "t/claude", tools: [tool("a")], messages });
    const [, called, answered] = sent()["messages"] as readonly { content: readonly object[] }[];
    expect(called?.content).toEqual([{ ...call, ...mark }]);
    expect(answered?.content).toEqual([{ ...result, content: [text("1")], ...mark }]);
    expect(pathsOf(answer)).toEqual([]);
    upstream.script([textReply("Hello")]);
    const elsewhere = await answerOf({ model: "t/chat", tools: [tool("a")], messages });
    expect(pathsOf(elsewhere)).toContain("messages.1.content.0.cache_control");
  });

  test("on an empty result are listed as unsent", async () => {
    const messages = [
      { role: "user", content: [text("Hi")] },
      { role: "assistant", content: [call] },
      { role: "user", content: [{ ...result, content: "", ...mark }] },
    ];
    const answer = await answerOf({ model: "t/claude", tools: [tool("a")], messages });
    expect(JSON.stringify(sent())).not.toContain("cache_control");
    expect(pathsOf(answer)).toEqual(["messages.2.content.0.cache_control"]);
  });

  test("are refused by name above four, including those on tools", async () => {
    const parts = [1, 2, 3, 4].map((number) => text(String(number), mark));
    const messages = [{ role: "user", content: parts }];
    const response = await sendRequest({ model: "t/claude", tools: [tool("a", mark)], messages });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/^messages\.0\.content\.3\.cache_control/) },
    });
  });

  test.each(["t/chat", "t/open"])("are reported as unsent for formats without cache marks: %s", async (model) => {
    const message = { type: "message", id: "m", role: "assistant", status: "completed", content: [] };
    const response = { id: "r", object: "response", status: "completed", output: [message] };
    upstream.script([model === "t/chat" ? textReply("Hello") : { chunks: [{ json: response }] }]);
    const answer = await answerOf({
      model,
      tools: [tool("a", mark)],
      messages: [{ role: "user", content: [text("Hi", mark)] }],
    });
    expect(JSON.stringify(sent()).includes("cache_control")).toBe(model === "t/open");
    if (model === "t/chat") {
      expect(pathsOf(answer)).toEqual(
        expect.arrayContaining(["tools.0.cache_control", "messages.0.content.0.cache_control"]),
      );
    }
  });
});
