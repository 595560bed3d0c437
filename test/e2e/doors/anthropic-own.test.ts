/** What only Anthropic's format has, from its clients to a provider of the format and back. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { eventData, readStreamedMessage } from "../../support/answers/streamed-answers.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Received, type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: vendor, dialect: messages, base_url: "${upstream.url}/v1", vendor: anthropic}
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - id: t/claude
    endpoints: [{provider: vendor, upstream_model: m, pricing: {prompt: "1", completion: "2"}}]
  - {id: t/chat, endpoints: [{provider: chatty, upstream_model: m}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

async function post(body: object): Promise<string> {
  const response = await fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: {
      "x-api-key": installation.apiKey,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "t/claude", max_tokens: 64, messages: question, ...body }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return text;
}

interface Answer {
  readonly content: readonly { readonly type: string }[];
  readonly usage: Readonly<Record<string, unknown>>;
  readonly service_metadata: {
    readonly params: { readonly not_sent?: readonly { readonly path: string; readonly reason: string }[] };
  };
  readonly [field: string]: unknown;
}

const ask = async (body: object = {}): Promise<Answer> => JSON.parse(await post(body)) as Answer;
const notSent = ({ service_metadata: { params } }: Answer) => (params.not_sent ?? []).map(({ path }) => path);
const lastSent = () => (upstream.requests.at(-1) as Received).json as { messages: { content: unknown }[] };

const question = [{ role: "user", content: "Hi" }];
const said = { type: "text", text: "B." };
const schema = { type: "object", properties: {} };
const tools = [{ name: "look", input_schema: schema }];

describe("a call", () => {
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {}, caller: { type: "direct" } };
  const history = (model: string) => ({
    model,
    tools,
    messages: [
      ...question,
      { role: "assistant", content: [call] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "rain" }] },
    ],
  });

  test("names its caller, whole and in a stream", async () => {
    upstream.script([claudeMessage([call], "tool_use"), claudeStream([[call]], "tool_use")]);
    expect(await ask({ tools })).toMatchObject({ content: [call] });
    expect(readStreamedMessage(await post({ tools, stream: true }))).toMatchObject([call]);
  });

  test("keeps its caller in the next turn, and elsewhere the caller is reported", async () => {
    upstream.script([claudeMessage([said]), chatAnswer({ role: "assistant", content: "B." })]);
    expect(notSent(await ask(history("t/claude")))).toEqual([]);
    expect(lastSent().messages[1]).toEqual({ role: "assistant", content: [call] });
    expect(notSent(await ask(history("t/chat")))).toEqual(["messages.1.content.0.caller"]);
  });
});

describe("an answer", () => {
  const own = {
    context_management: { applied_edits: [{ type: "clear_tool_uses_20250919", cleared_tool_uses: 2 }] },
    container: { id: "container_1", expires_at: "2026-08-02T17:44:16Z" },
  };
  const usage = {
    input_tokens: 9,
    output_tokens: 3,
    inference_geo: "eu",
    server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
  };

  test("keeps the fields that only this format has", async () => {
    upstream.script([claudeMessage([said], "end_turn", { ...own, usage })]);
    expect(await ask()).toMatchObject({ ...own, usage });
  });

  test("keeps them in a stream, whose last event has them", async () => {
    const events = [
      { type: "message_start", message: { id: "m", content: [], usage: { input_tokens: 9, inference_geo: "eu" } } },
      { type: "content_block_start", index: 0, content_block: said },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 }, ...own },
      { type: "message_stop" },
    ];
    upstream.script([{ chunks: [{ sse: events }] }]);
    const last = eventData(await post({ stream: true })).find(({ type }) => type === "message_delta");
    const { container, context_management: edits } = own;
    expect(last).toMatchObject({
      container,
      context_management: edits,
      usage: { input_tokens: 9, inference_geo: "eu" },
    });
  });

  test("has the counts of its message, and costs what its summary took as well", async () => {
    const iterations = [
      { type: "compaction", input_tokens: 900, output_tokens: 80 },
      { type: "message", input_tokens: 9, output_tokens: 3 },
    ];
    upstream.script([claudeMessage([said], "end_turn", { usage: { ...usage, iterations } })]);
    const answer = await ask();
    expect(answer.usage).toMatchObject({ input_tokens: 9, output_tokens: 3, iterations, cost: (909 + 2 * 83) / 1e6 });
  });
});
