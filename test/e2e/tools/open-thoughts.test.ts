/** Open reasoning of clients that keep only `encrypted_content`: its model gets it back with the following calls, and guardrails read it in both directions. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseSse } from "../../support/answers/sse.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import {
  type Received,
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  responsesAnswer,
  startUpstream,
} from "../../support/providers/upstream.ts";
import { textReply, toolCalls } from "../../support/tool-replies.ts";

let upstream: Upstream;
let installation: Installation;
/** Key under a guardrail redacting a word in requests and answers. */
let guarded: string;
/** Key under a guardrail refusing a word in requests. */
let refused: string;

async function keyUnder(name: string, filters: object): Promise<string> {
  const created = JSON.parse((await installation.admin("keys", "create", "--name", name, "--json")).stdout) as {
    readonly key: string;
    readonly hash: string;
  };
  const send = async (path: string, body: object): Promise<{ readonly data: { readonly id: string } }> => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.ok).toBe(true);
    return (await response.json()) as { readonly data: { readonly id: string } };
  };
  const { data } = await send("/guardrails", { name, ...filters });
  await send(`/guardrails/${data.id}/assignments/keys`, { key_hashes: [created.hash] });
  return created.key;
}

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: deep, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: open, dialect: responses, base_url: "${upstream.url}/v1"}
models:
  - {id: t/chat, endpoints: [{provider: deep, supported_parameters: [tools, reasoning, reasoning_content]}]}
  - {id: t/mistral, endpoints: [{provider: deep, supported_parameters: [tools, reasoning, message.thinking]}]}
  - {id: t/responses, endpoints: [{provider: open}]}
`,
  });
  guarded = await keyUnder("redacts", {
    applies_to: "both",
    content_filters: [{ pattern: "codeword", action: "redact" }],
  });
  refused = await keyUnder("refuses", { content_filters: [{ pattern: "codeword", action: "block" }] });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

interface Item {
  readonly type: string;
  readonly id: string;
  readonly call_id?: string;
  readonly encrypted_content?: string | null;
}

interface Answer {
  readonly output: readonly Item[];
}

const thought = "Look for “cup” first. 查";
const include = ["reasoning.encrypted_content"];
const tools = [{ type: "function", name: "find", parameters: { type: "object", properties: {} } }];
const user = { role: "user", content: "Go." };

const post = (body: object, key = installation.apiKey): Promise<Response> =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "t/chat", input: [user], tools, include, ...body }),
  });

async function sendRequest(body: object, key?: string): Promise<Answer> {
  const response = await post(body, key);
  const answer = await response.text();
  expect([response.status, answer]).toEqual([200, expect.any(String)]);
  if (!("stream" in body)) return JSON.parse(answer) as Answer;
  return parseSse(answer).events.find(({ type }) => type === "response.completed")?.["response"] as Answer;
}

const thinking = (reasoning: string): Reply =>
  chatAnswer(
    { role: "assistant", content: null, reasoning_content: reasoning, tool_calls: toolCalls([{ name: "find" }]) },
    "tool_calls",
  );
const thinkingStream = (...pieces: readonly string[]): Reply => ({
  chunks: [
    {
      sse: [
        ...pieces.map((piece) => chatChunk({ role: "assistant", reasoning_content: piece })),
        chatChunk({ tool_calls: toolCalls([{ name: "find" }]) }),
        chatChunk({}, "tool_calls"),
        "[DONE]",
      ],
    },
  ],
});

/** The next turn of a client without other fields of reasoning. */
const keptBy = ({ output }: Answer): readonly object[] => [
  user,
  ...output.map((item) =>
    item.type === "reasoning"
      ? { type: item.type, id: item.id, summary: [], encrypted_content: item.encrypted_content }
      : item,
  ),
  { type: "function_call_output", call_id: output.at(-1)?.call_id, output: "none" },
];

const lastSent = (): string => (upstream.requests.at(-1) as Received).body;
const messages = (): readonly object[] => (JSON.parse(lastSent()) as { messages: readonly object[] }).messages;
const packedIn = ({ output }: Answer): unknown => output.find(({ type }) => type === "reasoning")?.encrypted_content;

beforeEach(() => upstream.script([thinking(thought)]));

describe("reasoning goes back to its model in its server's field", () => {
  const call = { role: "assistant", tool_calls: [{ function: { name: "find" } }] };

  test.each([
    ["t/chat", { reasoning_content: thought }],
    ["t/mistral", { content: [{ type: "thinking", thinking: [{ type: "text", text: thought }] }] }],
  ])("as %s", async (model, fields) => {
    const answer = await sendRequest({ model });
    expect(packedIn(answer)).toMatch(/^[\w:.-]+$/);
    upstream.script([textReply("Done.")]);
    await sendRequest({ model, input: keptBy(answer) });
    expect(messages()[1]).toMatchObject({ ...call, ...fields });
  });

  test("after a stream", async () => {
    upstream.script([thinkingStream(...thought.match(/.{1,4}/gsu)!)]);
    const answer = await sendRequest({ stream: true });
    upstream.script([textReply("Done.")]);
    await sendRequest({ input: keptBy(answer) });
    expect(messages()[1]).toMatchObject({ ...call, reasoning_content: thought });
  });

  test("as content to other servers of the Responses API", async () => {
    const content = [thought, "And then?"].map((text) => ({ type: "reasoning_text", text }));
    const called = { type: "function_call", id: "fc_1", call_id: "call_1", name: "find", arguments: "{}" };
    upstream.script([responsesAnswer({ type: "reasoning", id: "rs_1", summary: [], content }, called)]);
    const answer = await sendRequest({ model: "t/responses" });
    upstream.script([responsesAnswer({ type: "message", role: "assistant", content: [] })]);
    await sendRequest({ model: "t/responses", input: keptBy(answer) });
    const { input } = JSON.parse(lastSent()) as { input: readonly object[] };
    expect(input[1]).toEqual({ type: "reasoning", id: "rs_1", summary: [], content });
  });
});

test("reasoning is packed only on the client's request, and only up to a size", async () => {
  expect(packedIn(await sendRequest({ include: [] }))).toBeUndefined();
  upstream.script([thinking("x".repeat(520 * 1_024))]);
  expect(packedIn(await sendRequest({}))).toBeUndefined();
  upstream.script([thinking("x".repeat(500 * 1_024))]);
  const answer = await sendRequest({});
  upstream.script([textReply("Done.")]);
  await sendRequest({ input: keptBy(answer) });
  expect(messages()[1]).toMatchObject({ reasoning_content: "x".repeat(500 * 1_024) });
});

test("the client's content takes precedence over the packed reasoning", async () => {
  const input = keptBy(await sendRequest({})).map((item) =>
    "encrypted_content" in item ? { ...item, content: [{ type: "reasoning_text", text: "Otherwise." }] } : item,
  );
  upstream.script([textReply("Done.")]);
  await sendRequest({ input });
  expect(messages()[1]).toMatchObject({ reasoning_content: "Otherwise." });
});

test.each([
  ["cut", (packed: string) => packed.slice(0, -9)],
  ["of another kind", (packed: string) => `${packed.slice(0, packed.lastIndexOf(":") + 1)}bnVsbA`],
])("packed reasoning that is %s is left out, and the turn continues without it", async (_how, change) => {
  const input = keptBy(await sendRequest({})).map((item) =>
    "encrypted_content" in item ? { ...item, encrypted_content: change(String(item.encrypted_content)) } : item,
  );
  upstream.script([textReply("Done.")]);
  await sendRequest({ input });
  expect(messages()[1]).not.toHaveProperty("reasoning_content");
});

describe("guardrails and packed reasoning:", () => {
  const secret = "The codeword is first.";

  test("reasoning redacted in an answer is not packed", async () => {
    upstream.script([thinking(secret)]);
    const answer = await sendRequest({}, guarded);
    expect(packedIn(answer)).toBeUndefined();
    expect(JSON.stringify(answer)).not.toContain("codeword");
    upstream.script([thinkingStream("The code", "word is first.")]);
    expect(packedIn(await sendRequest({ stream: true }, guarded))).toBeUndefined();
  });

  test("a redacting guardrail reads packed reasoning in requests", async () => {
    upstream.script([thinking(secret)]);
    const input = keptBy(await sendRequest({}));
    upstream.script([textReply("Done.")]);
    await sendRequest({ input }, guarded);
    expect(messages()[1]).toMatchObject({ reasoning_content: "The [REDACTED] is first." });
    expect(lastSent()).not.toContain("codeword");
  });

  test("a refusing guardrail reads packed reasoning in requests", async () => {
    upstream.script([thinking(secret)]);
    const input = keptBy(await sendRequest({}));
    const { status } = await post({ input }, refused);
    expect(status).toBe(403);
  });
});

test("reasoning stays with its call over the steps of a tool run by Sluice", async () => {
  const datetime = toolCalls([{ name: "service_datetime" }]);
  const reply = { role: "assistant", content: null, reasoning_content: thought, tool_calls: datetime };
  upstream.script([chatAnswer(reply, "tool_calls"), textReply("Done.")]);
  await sendRequest({ tools: [{ type: "service:datetime" }] });
  expect(messages()[1]).toMatchObject({ reasoning_content: thought });
});
