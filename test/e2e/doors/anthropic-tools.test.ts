/** Tools that Anthropic runs itself: page fetches, and searches in deferred tools. They are sent unchanged to Anthropic. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readStreamedMessage } from "../../support/answers/streamed-answers.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import {
  type Received,
  type Upstream,
  chatAnswer,
  responsesAnswer,
  startUpstream,
} from "../../support/providers/upstream.ts";
import { toolDialects } from "../../support/tool-dialects.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: vendor, dialect: messages, base_url: "${upstream.url}/v1", vendor: anthropic}
  - {id: other, dialect: messages, base_url: "${upstream.url}/v1"}
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: open, dialect: responses, base_url: "${upstream.url}/v1", vendor: openai}
  - {id: google, dialect: gemini, base_url: "${upstream.url}/v1"}
models:
  - {id: t/claude, endpoints: [{provider: vendor, upstream_model: m}]}
  - {id: t/other, endpoints: [{provider: other, upstream_model: m}]}
  - {id: t/chat, endpoints: [{provider: chatty, upstream_model: m}]}
  - {id: t/open, endpoints: [{provider: open, upstream_model: m}]}
  - {id: t/google, endpoints: [{provider: google, upstream_model: m}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

async function sendRequest(body: object): Promise<string> {
  const response = await fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: { "x-api-key": installation.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ model: "t/claude", max_tokens: 64, messages, tools: [tool], ...body }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return text;
}

const lastSent = () => (upstream.requests.at(-1) as Received).json;

const url = "https://a.test/cup";
const messages = [{ role: "user", content: `What does ${url} say?` }];
const tool = {
  type: "web_fetch_20260209",
  name: "web_fetch",
  max_uses: 2,
  max_content_tokens: 900,
  allowed_domains: ["a.test"],
  citations: { enabled: false },
};
const call = { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: { url } };
const page = {
  type: "web_fetch_tool_result",
  tool_use_id: "srvtoolu_1",
  content: {
    type: "web_fetch_result",
    url,
    retrieved_at: "2026-08-02T17:44:16",
    content: { type: "document", title: "Cup", source: { type: "text", media_type: "text/plain", data: "B won." } },
  },
};
const failed = { ...page, content: { type: "web_fetch_tool_result_error", error_code: "url_not_accessible" } };
const said = { type: "text", text: "B." };
const shown = [
  { type: "server_tool_use", name: "web_fetch", input: { url } },
  {
    type: "web_fetch_tool_result",
    content: {
      type: "web_fetch_result",
      url,
      content: { type: "document", title: "Cup", source: { type: "text", media_type: "text/plain", data: "B won." } },
    },
  },
  said,
];

describe("a page fetched by Anthropic's tool", () => {
  test("comes back whole, and the tool is sent unchanged", async () => {
    upstream.script([claudeMessage([call, page, said])]);
    expect(JSON.parse(await sendRequest({}))).toMatchObject({ content: shown });
    expect(lastSent()["tools"]).toEqual([tool]);
  });

  test("comes back in a stream", async () => {
    const input = { type: "input_json_delta", partial_json: JSON.stringify(call.input) };
    const words = { type: "text_delta", text: said.text };
    upstream.script([claudeStream([[{ ...call, input: {} }, input], [page], [{ type: "text", text: "" }, words]])]);
    expect(readStreamedMessage(await sendRequest({ stream: true }))).toMatchObject(shown);
  });

  test("is an error in its block when it cannot be read", async () => {
    upstream.script([claudeMessage([call, failed, said])]);
    const content = [shown[0], { content: { type: "web_fetch_tool_result_error" } }, said];
    expect(JSON.parse(await sendRequest({}))).toMatchObject({ content });
  });

  test("is text in the next turn", async () => {
    upstream.script([claudeMessage([call, page, said])]);
    const { content } = JSON.parse(await sendRequest({})) as { content: unknown };
    upstream.script([claudeMessage([said])]);
    await sendRequest({ messages: [...messages, { role: "assistant", content }, { role: "user", content: "Sure?" }] });
    const { messages: sent } = lastSent() as { messages: object[] };
    expect(sent[1]).toMatchObject({ role: "assistant", content: shown });
  });
});

test("Anthropic's fetch tool is a function at other providers, and Sluice fetches the page", async () => {
  upstream.script([claudeMessage([said])]);
  await sendRequest({ model: "t/other" });
  expect(lastSent()["tools"]).toMatchObject([{ name: "service_web_fetch" }]);
});

const schema = { type: "object", properties: {} };
const searching = (kind: "regex" | "bm25") => ({
  type: `tool_search_tool_${kind}_20251119`,
  name: `tool_search_tool_${kind}`,
});
const weather = { name: "get_weather", input_schema: schema, defer_loading: true };
const stock = { name: "get_stock", input_schema: schema, defer_loading: true };
const plain = { name: "say", input_schema: schema };

describe.each(["regex", "bm25"] as const)("deferred tools at Anthropic, searched by %s", (kind) => {
  const functions = [plain, weather, stock];
  const tools = kind === "regex" ? [searching(kind), ...functions] : [...functions, searching(kind)];
  const input = kind === "regex" ? { pattern: "weather" } : { query: "weather" };
  const search = { type: "server_tool_use", id: "srvtoolu_2", name: `tool_search_tool_${kind}`, input };
  const references = [{ type: "tool_reference", tool_name: "get_weather" }];
  const found = {
    type: "tool_search_tool_result",
    tool_use_id: "srvtoolu_2",
    content: { type: "tool_search_tool_search_result", tool_references: references },
  };
  const use = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} };
  const seen = [
    { type: "server_tool_use", name: search.name, input },
    { type: "tool_search_tool_result", content: found.content },
    { type: "tool_use", name: "get_weather", input: {} },
  ];

  test("are sent unchanged, also in the next turn, together with the earlier search", async () => {
    upstream.script([claudeMessage([search, found, use], "tool_use")]);
    const answer = JSON.parse(await sendRequest({ tools })) as { content: { id?: string }[] };
    expect(answer).toMatchObject({ content: seen, stop_reason: "tool_use" });
    expect(lastSent()["tools"]).toEqual(tools);
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: "rain" };
    const history = [...messages, { role: "assistant", content: answer.content }, { role: "user", content: [result] }];
    upstream.script([claudeMessage([said])]);
    await sendRequest({ tools, messages: history });
    const { tools: sent, messages: turns } = lastSent() as { tools: object[]; messages: object[] };
    expect(sent).toEqual(tools);
    expect(turns[1]).toMatchObject({ role: "assistant", content: seen });
  });

  test("come back in a stream", async () => {
    const json = { type: "input_json_delta", partial_json: JSON.stringify(input) };
    upstream.script([claudeStream([[{ ...search, input: {} }, json], [found], [use]], "tool_use")]);
    expect(readStreamedMessage(await sendRequest({ tools, stream: true }))).toMatchObject(seen);
  });

  test("are searched by Sluice at other providers, including tools that Anthropic found before", async () => {
    upstream.script([claudeMessage([said])]);
    await sendRequest({ model: "t/other", tools });
    const names = () => (lastSent()["tools"] as { name: string }[]).map(({ name }) => name).sort();
    expect(names()).toEqual(["say", "service_tool_search"]);
    const before = [
      ...messages,
      { role: "assistant", content: [search, found, said] },
      { role: "user", content: "And?" },
    ];
    upstream.script([claudeMessage([said])]);
    await sendRequest({ model: "t/other", tools, messages: before });
    expect(names()).toEqual(["get_weather", "say", "service_tool_search"]);
  });
});

describe("deferred tools searched by the client itself", () => {
  const rates = { name: "fx.rates", input_schema: schema, defer_loading: true };
  const tools = [{ name: "find_tools", input_schema: schema }, weather, stock, rates];
  const find = { type: "tool_use", id: "toolu_7", name: "find_tools", input: {} };
  const references = ["get_weather", "fx.rates", "gone"].map((name) => ({ type: "tool_reference", tool_name: name }));
  const result = (content: readonly object[]) => ({ type: "tool_result", tool_use_id: "toolu_7", content });
  const searched = (content: readonly object[] = references) => [
    ...messages,
    { role: "assistant", content: [find] },
    { role: "user", content: [result(content)] },
  ];
  const found = [tools[0], weather, { ...rates, name: "fx_rates" }];
  const gone = { type: "text", text: "Tool found: gone" };

  test("are sent unchanged to Anthropic, with references to its known tools", async () => {
    upstream.script([claudeMessage([{ type: "tool_use", id: "toolu_8", name: "fx_rates", input: {} }], "tool_use")]);
    const answer = JSON.parse(await sendRequest({ tools, messages: searched() })) as { content: object[] };
    const { tools: sent, messages: turns } = lastSent() as { tools: object[]; messages: { content: object[] }[] };
    expect(sent).toEqual(found);
    const [weatherFound, ratesFound] = references;
    expect(turns.at(-1)?.content).toEqual([result([weatherFound!, { ...ratesFound, tool_name: "fx_rates" }, gone])]);
    expect(answer.content).toMatchObject([{ type: "tool_use", name: "fx.rates" }]);
  });

  test("may be required at Anthropic", async () => {
    upstream.script([claudeMessage([said])]);
    for (const choice of [{ type: "any" }, { type: "tool", name: "get_weather" }]) {
      await sendRequest({ tools, messages: searched(), tool_choice: choice });
      expect(lastSent()).toMatchObject({ tools: found, tool_choice: choice });
    }
  });

  test("are hidden from Anthropic until the client has found them", async () => {
    upstream.script([claudeMessage([said])]);
    await sendRequest({ tools });
    expect(lastSent()["tools"]).toEqual(tools.slice(0, 1));
  });

  test("are ordinary tools at Anthropic if their name is too long for a reference", async () => {
    const long = { name: "n".repeat(65), input_schema: schema, defer_loading: true };
    upstream.script([claudeMessage([said])]);
    await sendRequest({
      tools: [...tools, long],
      messages: searched([...references.slice(0, 1), { type: "tool_reference", tool_name: long.name }]),
    });
    const { tools: sent, messages: turns } = lastSent() as { tools: object[]; messages: { content: object[] }[] };
    expect(sent).toEqual([tools[0], weather, { name: long.name, input_schema: schema }]);
    const shown = [references[0]!, { type: "text", text: words(long.name) }];
    expect(turns.at(-1)?.content).toEqual([result(shown)]);
  });

  const plainly = ({ name }: { name: string }) => ({ name: name.replace(".", "_"), input_schema: schema });
  const known = [{ name: "find_tools" }, { name: "get_weather" }, { name: "fx.rates" }];
  const words = (name: string) => `Tool found: ${name}`;

  test("are ordinary tools at other providers, and the result names them", async () => {
    upstream.script([claudeMessage([said])]);
    await sendRequest({ model: "t/other", tools, messages: searched() });
    const { tools: sent, messages: turns } = lastSent() as { tools: object[]; messages: { content: object[] }[] };
    expect(sent).toEqual(known.map(plainly));
    const texts = ["get_weather", "fx_rates", "gone"].map((name) => ({ type: "text", text: words(name) }));
    expect(turns.at(-1)?.content).toEqual([result(texts)]);
  });

  test.each([
    ["chat", chatAnswer({ role: "assistant", content: "B." }), ["get_weather", "fx_rates"]],
    ["open", responsesAnswer({ type: "message", role: "assistant", content: [] }), ["get_weather", "fx_rates"]],
    ["google", toolDialects.gemini.say("B.", false), ["get_weather", "fx.rates"]],
  ])("are ordinary tools at %s, and the result names them", async (model, reply, names) => {
    upstream.script([reply]);
    await sendRequest({ model: `t/${model}`, tools, messages: searched() });
    const body = JSON.stringify(lastSent());
    expect(body).not.toMatch(/defer_loading|tool_reference|get_stock/);
    for (const name of names) {
      expect(body).toContain(`"name":"${name}"`);
      expect(body).toContain(words(name));
    }
  });
});
