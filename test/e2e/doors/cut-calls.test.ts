/** A call that breaks off before an end that the provider reports is incomplete at every door. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseSse } from "../../support/answers/sse.ts";
import { eventData } from "../../support/answers/streamed-answers.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, chatAnswer, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: vllm, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: t/chat, endpoints: [{provider: vllm}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const parameters = { type: "object", properties: { city: { type: "string" } } };
const call = (id: string, args: string) => ({ id, type: "function", function: { name: "f", arguments: args } });
const calls = [call("c1", '{"city":"Oslo"}'), call("c2", '{"city":"Ro')];

const whole = (finish: string): Reply => chatAnswer({ role: "assistant", content: null, tool_calls: calls }, finish);
const streamed = (finish: string): Reply => ({
  chunks: [
    {
      sse: [
        ...calls.map((each, index) => chatChunk({ tool_calls: [{ index, ...each }] })),
        chatChunk({}, finish),
        "[DONE]",
      ],
    },
  ],
});

async function ask(path: string, body: object): Promise<string> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "t/chat", ...body }),
  });
  expect(response.status).toBe(200);
  return response.text();
}

const messages = [{ role: "user", content: "Hi" }];
const asked = {
  chat: { messages, tools: [{ type: "function", function: { name: "f", parameters } }] },
  messages: { max_tokens: 64, messages, tools: [{ name: "f", input_schema: parameters }] },
  responses: { input: "Hi", tools: [{ type: "function", name: "f", parameters }] },
};

describe.each(["tool_calls", "stop"])("a call that breaks off before the end %s", (finish) => {
  test("has the finish reason length in chat completions", async () => {
    upstream.script([whole(finish)]);
    const answer = JSON.parse(await ask("/chat/completions", asked.chat)) as object;
    expect(answer).toMatchObject({ choices: [{ finish_reason: "length" }] });
    upstream.script([streamed(finish)]);
    const chunks = eventData(await ask("/chat/completions", { ...asked.chat, stream: true }));
    const reasons = chunks.flatMap(({ choices }) => choices as { readonly finish_reason: string | null }[]);
    expect(reasons.flatMap(({ finish_reason: reason }) => reason ?? [])).toEqual(["length"]);
  });

  test("has the stop reason max_tokens in messages", async () => {
    upstream.script([whole(finish)]);
    expect(JSON.parse(await ask("/messages", asked.messages))).toMatchObject({ stop_reason: "max_tokens" });
    upstream.script([streamed(finish)]);
    const { events } = parseSse(await ask("/messages", { ...asked.messages, stream: true }));
    expect(events.find(({ type }) => type === "message_delta")).toMatchObject({ delta: { stop_reason: "max_tokens" } });
  });

  test("is an incomplete item of an incomplete response", async () => {
    const incomplete = {
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [
        { call_id: "c1", status: "completed" },
        { call_id: "c2", status: "incomplete" },
      ],
    };
    upstream.script([whole(finish)]);
    expect(JSON.parse(await ask("/responses", asked.responses))).toMatchObject(incomplete);
    upstream.script([streamed(finish)]);
    const { events } = parseSse(await ask("/responses", { ...asked.responses, stream: true }));
    expect(events.find(({ type }) => type === "response.incomplete")).toMatchObject({ response: incomplete });
  });
});
