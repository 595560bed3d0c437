/** A conversation with a Gemini provider through running services: its texts and signatures come back to the provider unchanged. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";
import { checkLadder } from "../support/answers/ladder-rules.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Reply, type Upstream, sse, startUpstream } from "../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  const address = `base_url: "${upstream.url}/v1beta", api_keys: [upstream-key]`;
  // A rate-limited key rests, so the limited cases use other providers.
  const ids = ["google", "limited-true", "limited-false"];
  installation = await startInstallation({
    config: `
providers:
${ids.map((id) => `  - {id: ${id}, dialect: gemini, ${address}}\n`).join("")}
models:
${ids.map((id) => `  - {id: ${id}/flash, endpoints: [{provider: ${id}, upstream_model: gemini-3.6-flash}]}\n`).join("")}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const post = (body: object) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "google/flash", ...body }),
  });

interface Answer {
  readonly status: string;
  readonly output: readonly Record<string, unknown>[];
  readonly usage: object;
}

/** The response, whole or streamed. */
async function answerTo(body: { readonly stream: boolean; readonly [field: string]: unknown }): Promise<Answer> {
  const response = await post(body);
  expect(response.status).toBe(200);
  if (!body.stream) return (await response.json()) as Answer;
  return checkLadder(parseSse(await response.text()), true) as unknown as Answer;
}

// After https://ai.google.dev/gemini-api/docs/thought-signatures and https://ai.google.dev/gemini-api/docs/function-calling.
const thought = { text: "The user wants the weather “now”.", thought: true };
const functionCall = { name: "get_weather", args: { town: "Zürich" }, id: "fc-1" };
const parts = [
  thought,
  { functionCall, thoughtSignature: "EjQKMgEMOdbH" },
  { functionCall: { ...functionCall, id: "fc-2" } },
];
const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 12, thoughtsTokenCount: 30, totalTokenCount: 62 };
const chunk = (content: readonly object[], more: object = {}) => ({
  candidates: [{ content: { role: "model", parts: content }, index: 0, ...more }],
  usageMetadata,
});
const end = { finishReason: "STOP" };

/** The stream is written in pieces of seven bytes. */
const dripped = (...chunks: readonly object[]): Reply => {
  const bytes = Buffer.from(sse(...chunks).replaceAll("\n", "\r\n"));
  const writes = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
  return { headers: { "content-type": "text/event-stream" }, chunks: writes.map((piece) => ({ bytes: piece })) };
};

const tools = [{ type: "function", name: "get_weather", parameters: { type: "object" } }];

test.each([true, false])(
  "signed calls of Gemini reach the client, and their signatures go back with the results (stream: %s)",
  async (stream) => {
    upstream.script(
      stream
        ? [dripped(...parts.map((part) => chunk([part])), chunk([], end)), dripped(chunk([{ text: "Rain." }], end))]
        : [{ chunks: [{ json: chunk(parts, end) }] }, { chunks: [{ json: chunk([{ text: "Rain." }], end) }] }],
    );
    const question = { role: "user", content: "What is the weather in Zürich?" };
    const called = await answerTo({ stream, input: [question], tools, reasoning: { effort: "low" } });
    expect(called).toMatchObject({
      status: "completed",
      output: [
        {
          type: "reasoning",
          summary: [{ type: "summary_text", text: thought.text }],
          format: "google-gemini-v1",
          signature: "EjQKMgEMOdbH",
        },
        { type: "function_call", call_id: "fc-1", name: "get_weather", arguments: '{"town":"Zürich"}' },
        { type: "function_call", call_id: "fc-2", name: "get_weather", arguments: '{"town":"Zürich"}' },
      ],
      usage: { input_tokens: 20, output_tokens: 42, output_tokens_details: { reasoning_tokens: 30 }, total_tokens: 62 },
    });

    const results = ["fc-1", "fc-2"].map((call_id) => ({ type: "function_call_output", call_id, output: "rain" }));
    const said = await answerTo({ stream, input: [question, ...called.output, ...results], tools });
    expect(said.output).toMatchObject([{ type: "message", content: [{ type: "output_text", text: "Rain." }] }]);

    const answer = (id: string) => ({ functionResponse: { id, name: "get_weather", response: { output: "rain" } } });
    expect(upstream.requests.at(-1)?.json).toEqual({
      contents: [
        { role: "user", parts: [{ text: question.content }] },
        { role: "model", parts: parts.slice(1) },
        { role: "user", parts: [answer("fc-1"), answer("fc-2")] },
      ],
      tools: [{ functionDeclarations: [{ name: "get_weather", parametersJsonSchema: { type: "object" } }] }],
    });
    expect(upstream.requests.at(-1)?.path).toBe(
      `/v1beta/models/gemini-3.6-flash:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    );
  },
);

test.each([true, false])("an exhausted quota of Gemini has a retry hint (stream: %s)", async (stream) => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.07s" }];
  const error = { code: 429, message: "You exceeded your current quota.", status: "RESOURCE_EXHAUSTED", details };
  upstream.script([{ status: 429, chunks: [{ json: { error } }] }]);
  const response = await post({ stream, input: "Hi", model: `limited-${stream}/flash` });
  await response.text();
  const seconds = Number(response.headers.get("retry-after"));
  // The retry hint is shorter than the provider's, since some time has passed since the answer.
  expect([response.status, seconds > 25, seconds <= 35]).toEqual([429, true, true]);
});

test("a Gemini stream broken off after text fails, without a retry", async () => {
  upstream.script([{ chunks: [{ sse: [chunk([{ text: "Hel" }])] }], cut: true }]);
  const before = upstream.requests.length;
  const events = parseSse(await (await post({ stream: true, input: "Hi" })).text()).events;
  expect(events.at(-1)?.type).toBe("response.failed");
  expect(upstream.requests).toHaveLength(before + 1);
});
