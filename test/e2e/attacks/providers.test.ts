/** Attacks 92 to 103: a provider's output is untrusted data, and never an event, a header, a price or a secret of the installation. */
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { type Answer, checkLadder } from "../../support/answers/ladder-rules.ts";
import { type SseStream, parseSse } from "../../support/answers/sse.ts";
import { type Reply, chatChunk, chatStream, sse } from "../../support/providers/upstream.ts";
import { AttackedInstallation, chatModel, attackedModel, providerKey } from "./attacked.ts";

let attacked: AttackedInstallation;
beforeAll(async () => {
  attacked = await AttackedInstallation.start();
});
afterEach(() => attacked.stands());
afterAll(() => attacked?.stop());

const sendRequest = (reply: Reply, more: object = {}): Promise<Response> => {
  attacked.upstream.script([reply]);
  return fetch(`${attacked.installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${attacked.installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: chatModel, input: "x", stream: true, ...more }),
  });
};
/** Sends a request, and parses the stream into an answer, checking every rule of order. */
async function streamed(reply: Reply, more: object = {}): Promise<{ stream: SseStream; answer: Answer }> {
  const stream = parseSse(await (await sendRequest(reply, more)).text());
  return { stream, answer: checkLadder(stream, true) };
}
const textOf = ({ output }: Answer): unknown => (output[0] as { content?: { text?: unknown }[] }).content?.[0]?.text;
const saying = (...events: readonly unknown[]): Reply => ({ chunks: [{ sse: events }] });

const forged = [
  [92, "an end", '\n\nevent: response.completed\ndata: {"type":"response.completed"}\n\n'],
  [92, "the last line of a stream", "\n\ndata: [DONE]\n\n"],
  [93, "line ends of all kinds", "a\u2028b\u2029c\rd\u0085e"],
  [93, "controls", "a\u0000b\u001B[31mc"],
] as const;
test.each(forged)("attack %i: %s inside of a provider's text stays text", async (_, __, text) => {
  const { stream, answer } = await streamed(chatStream(text, "!"));
  expect(textOf(answer)).toBe(`${text}!`);
  expect(stream.events.filter(({ type }) => type === "response.completed")).toHaveLength(1);
});

const item = (status: string, ...texts: readonly string[]) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status,
  content: texts.map((text) => ({ type: "output_text", text, annotations: [], logprobs: [] })),
});
/** An answer of the Responses format with events of other kinds before its end. */
const answering = (...strange: readonly object[]): Reply =>
  saying(
    { type: "response.created", sequence_number: 7, response: { id: "resp_1", status: "in_progress", output: [] } },
    { type: "response.output_item.added", sequence_number: 3, output_index: 0, item: item("in_progress") },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hi" },
    ...strange,
    { type: "response.output_item.done", sequence_number: 3, output_index: 0, item: item("completed", "Hi") },
    {
      type: "response.completed",
      sequence_number: -1,
      response: { id: "resp_1", status: "completed", output: [item("completed", "Hi")] },
    },
  );

test.each(["__proto__", "constructor", "response.of_tomorrow", "x".repeat(1_000_000)])(
  "attack 94: an event of an unknown kind is left out: %.20s",
  async (type) => {
    const { stream, answer } = await streamed(answering({ type, delta: "Boo" }), { model: attackedModel });
    expect(textOf(answer)).toBe("Hi");
    expect(JSON.stringify(stream.events)).not.toContain("Boo");
  },
);

test("attack 95: sequence numbers of the provider do not become those of the client's stream", async () => {
  // The rules of order include sequence numbers from 0 on without gaps.
  expect((await streamed(answering(), { model: attackedModel })).answer.status).toBe("completed");
});

const words = [chatChunk({ content: "Hi" }), chatChunk({}, "stop")];
test.each([
  ["twice", [...words, "[DONE]", "[DONE]"]],
  ["with more words behind it", [...words, "[DONE]", chatChunk({ content: "Boo" })]],
  ["with another end behind it", [...words, "[DONE]", chatChunk({}, "length"), "[DONE]"]],
])("attack 96: a stream with [DONE] %s ends at the first [DONE]", async (_, events) => {
  const { answer } = await streamed(saying(...events));
  expect([answer.status, textOf(answer)]).toEqual(["completed", "Hi"]);
});

test("attack 96: [DONE] without an answer is a failure", async () => {
  // No output was sent yet, so the answer has the status of a failure.
  const response = await sendRequest(saying(chatChunk({ role: "assistant" }), "[DONE]"));
  expect([response.status, await response.json()]).toMatchObject([502, { error: { code: 502 } }]);
});

test.each([
  [{ prompt_tokens: -5, completion_tokens: -1 }],
  [{ prompt_tokens: 1e300, completion_tokens: 1e300 }],
  [{ prompt_tokens: "12", completion_tokens: null }],
  [{ prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 900 } }],
  ["many"],
])("attack 97: usage %j gives only possible token counts and costs", async (usage) => {
  const { answer } = await streamed(saying(...words, { choices: [], usage }, "[DONE]"));
  const told = answer["usage"] as Record<string, unknown>;
  const details = told["input_tokens_details"] as { cached_tokens: number };
  for (const figure of [told["input_tokens"], told["output_tokens"], told["total_tokens"], details.cached_tokens]) {
    expect(Number.isSafeInteger(figure) && (figure as number) >= 0).toBe(true);
  }
  expect(details.cached_tokens).toBeLessThanOrEqual(told["input_tokens"] as number);
  expect(told["cost"]).toBeGreaterThanOrEqual(0);
});

const leak = `invalid key ${providerKey} at http://10.0.0.7/v1, stack: Error at main.py:3`;
const failing: [string, Reply][] = [
  ["instead of an answer", { status: 401, chunks: [{ json: { error: { message: leak } } }] }],
  ["inside of one", saying({ error: { message: leak, code: 401 } })],
  ["after words", saying(chatChunk({ content: "Hi" }), { error: { message: leak, code: 500 } })],
];
test.each(failing)("attack 98: an error %s shows neither key nor address", async (_, reply) => {
  const response = await sendRequest(reply);
  const text = await response.text();
  expect([401, 402]).not.toContain(response.status);
  for (const secret of [providerKey, "10.0.0.7", "main.py"]) expect(text).not.toContain(secret);
  expect(await attacked.installation.allLogged()).not.toContain(providerKey);
});

test("attack 99: headers of the provider are not passed on", async () => {
  const headers = {
    "set-cookie": "a=b",
    "access-control-allow-origin": "*",
    "x-powered-by": "acme",
    "x-ratelimit-remaining": "3",
    "content-security-policy": "none",
    server: "acme",
  };
  const response = await sendRequest({ ...chatStream("Hi"), headers });
  await response.text();
  for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).not.toBe(value);
});

test.each([301, 302, 307, 308])("attack 100: a redirect by the provider, %i, is not followed", async (status) => {
  const asked = attacked.upstream.requests.length;
  const location = `${attacked.upstream.url}/elsewhere`;
  const response = await sendRequest({ status, headers: { location }, chunks: [{ bytes: "" }] });
  expect([response.status, await response.json()]).toMatchObject([502, { error: { code: 502 } }]);
  expect(attacked.upstream.requests.slice(asked).every(({ path }) => path === "/v1/chat/completions")).toBe(true);
});

test.each(['{"a":1,"a":2}', "{a:1", "\u0000", '{"__proto__":{"x":1}}'])(
  "attack 101: arguments of a call are a string with any content: %j",
  async (said) => {
    const tools = [{ type: "function", name: "f", parameters: { type: "object" } }];
    const call = { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: said } };
    const reply = saying(chatChunk({ tool_calls: [call] }), chatChunk({}, "tool_calls"), "[DONE]");
    const { answer } = await streamed(reply, { tools });
    expect(answer.output).toMatchObject([{ type: "function_call", name: "f", arguments: said }]);
  },
);

test("attack 102: a hundred thousand empty deltas give no events", async () => {
  const reply: Reply = {
    chunks: [
      { sse: [chatChunk({ role: "assistant" })] },
      { bytes: sse(chatChunk({ content: "" })).repeat(1_000), repeat: 100 },
      { sse: [...words, "[DONE]"] },
    ],
  };
  const { stream, answer } = await streamed(reply);
  expect([textOf(answer), stream.events.length < 20]).toEqual(["Hi", true]);
});

test("attack 103: the provider body shown to the client holds no key", async () => {
  const { stream } = await streamed(chatStream("Hi"), { debug: { echo_upstream_body: true } });
  expect(stream.events[0]?.type).toBe("response.debug");
  expect(attacked.upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${providerKey}`);
  expect(JSON.stringify(stream.events)).not.toMatch(new RegExp(`${providerKey}|authorization`, "i"));
});
