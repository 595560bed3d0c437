/** A conversation with Amazon Bedrock through running services: signed requests, binary streams, and reasoning sent back with its signature. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  converseAnswer,
  converseStart,
  callBlock,
  converseDelta,
  endEvents,
  converseUsage,
  converseTextBlock,
  thoughtBlock,
} from "../inference-svc/models/dialects/converse-translation.ts";
import { exceptionFrame } from "../support/answers/event-stream.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { checkLadder } from "../support/answers/ladder-rules.ts";
import { parseSse } from "../support/answers/sse.ts";
import { type Reply, type Upstream, startUpstream } from "../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - id: bedrock
    dialect: converse
    base_url: "${upstream.url}"
    aws: {region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: "${secret}"}
models:
  - {id: anthropic/sonnet, endpoints: [{provider: bedrock, upstream_model: eu.anthropic.claude-sonnet-4-6}]}
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
    body: JSON.stringify({ model: "anthropic/sonnet", ...body }),
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

/** The stream is written in pieces of seven bytes. */
function dripped(...frames: readonly Uint8Array[]): Reply {
  const bytes = Buffer.concat(frames);
  const writes = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7));
  return {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    chunks: writes.map((piece) => ({ bytes: piece })),
  };
}
const whole = (body: object): Reply => ({ chunks: [{ json: body }] });

const tools = [{ type: "function", name: "get_weather", parameters: { type: "object" } }];

test.each([true, false])(
  "a Converse call with reasoning reaches the client, and its result the provider (stream: %s)",
  async (stream) => {
    const thought = { text: "The user wants the weather “now”.", signature: "EqQBCgIY" };
    const input = { town: "Zürich" };
    const use = { toolUse: { toolUseId: "tooluse_get_weather", name: "get_weather", input } };
    const content = [{ reasoningContent: { reasoningText: thought } }, use];
    const { signature } = thought;
    upstream.script(
      stream
        ? [
            dripped(
              converseStart(),
              ...thoughtBlock(0, { text: thought.text }, { signature }),
              ...callBlock(1, "get_weather", '{"town":', '"Zürich"}'),
              ...endEvents("tool_use"),
            ),
            dripped(converseStart(), ...converseTextBlock(0, "Rain."), ...endEvents("end_turn")),
          ]
        : [whole(converseAnswer(content, { stopReason: "tool_use" })), whole(converseAnswer([{ text: "Rain." }]))],
    );
    const question = { role: "user", content: "What is the weather in Zürich?" };
    const called = await answerTo({ stream, input: [question], tools, reasoning: { effort: "low" } });
    expect(called).toMatchObject({
      status: "completed",
      output: [
        { type: "reasoning", content: [{ text: thought.text }], format: "anthropic-claude-v1", signature },
        { type: "function_call", call_id: "tooluse_get_weather", arguments: '{"town":"Zürich"}' },
      ],
      usage: { input_tokens: converseUsage.inputTokens, output_tokens: converseUsage.outputTokens },
    });

    const result = { type: "function_call_output", call_id: "tooluse_get_weather", output: "rain" };
    const said = await answerTo({ stream, input: [question, ...called.output, result], tools });
    expect(said.output).toMatchObject([{ type: "message", content: [{ type: "output_text", text: "Rain." }] }]);

    const last = upstream.requests.at(-1);
    expect(last?.json).toEqual({
      messages: [
        { role: "user", content: [{ text: question.content }] },
        { role: "assistant", content },
        { role: "user", content: [{ toolResult: { toolUseId: "tooluse_get_weather", content: [{ text: "rain" }] } }] },
      ],
      toolConfig: { tools: [{ toolSpec: { name: "get_weather", inputSchema: { json: { type: "object" } } } }] },
    });
    expect(last?.path).toBe(`/model/eu.anthropic.claude-sonnet-4-6/${stream ? "converse-stream" : "converse"}`);
    expect(last?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/bedrock\/aws4_request, /,
    );
  },
);

test.each([true, false])("throttling and refusals of Bedrock keep their meaning (stream: %s)", async (stream) => {
  const error = (status: number, type: string, message: string): Reply => ({
    status,
    headers: { "x-amzn-errortype": `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
    chunks: [{ json: { message } }],
  });
  const statuses: number[] = [];
  for (const reply of [
    error(429, "ThrottlingException", "Too many requests, please wait before trying again."),
    error(400, "ValidationException", "messages: roles must alternate"),
    error(403, "AccessDeniedException", `User AKIDEXAMPLE with ${secret} is not authorized`),
  ]) {
    upstream.script([reply]);
    const response = await post({ stream, input: "Hi" });
    statuses.push(response.status);
    const body = await response.text();
    expect(body).not.toContain(secret);
    expect(body).not.toContain("AKIDEXAMPLE");
  }
  expect(statuses).toEqual([429, 400, 502]);
});

/** The events of a client when a stream delivers text first and then these frames. */
async function afterWords(...frames: readonly Uint8Array[]): Promise<string> {
  let release: (value?: unknown) => void = () => undefined;
  const after = new Promise((resolve) => {
    release = resolve;
  });
  const { headers } = dripped();
  const words = Buffer.concat([converseStart(), converseDelta(0, { text: "Hel" })]);
  upstream.script([
    { ...(headers && { headers }), chunks: [{ bytes: words }, { bytes: Buffer.concat(frames), after }] },
  ]);
  const before = upstream.requests.length;
  const response = await post({ stream: true, input: "Hi" });
  release();
  const text = await response.text();
  expect(upstream.requests).toHaveLength(before + 1);
  return text;
}

test("an exception after text ends the stream of Bedrock with its error", async () => {
  const { events } = parseSse(await afterWords(exceptionFrame("modelStreamErrorException", "Why")));
  expect(events.at(-1)?.type).toBe("response.failed");
});

test("a damaged frame of Bedrock fails the stream, and its text is not delivered", async () => {
  const damaged = Buffer.from(converseDelta(0, { text: "lo" }));
  damaged.write("XX", damaged.indexOf("lo"));
  const { events } = parseSse(await afterWords(damaged, ...endEvents("end_turn")));
  expect(events.at(-1)?.type).toBe("response.failed");
  expect(events.flatMap((event) => ("delta" in event ? [event.delta] : []))).toEqual(["Hel"]);
});

test("no log holds a credential of Bedrock", async () => {
  const folder = join(installation.dataDir, "logs");
  const read = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  await installation.logged("inference-svc", "AccessDeniedException");
  await installation.allLogged();
  for (const text of [...read(), installation.output()]) {
    expect(text).not.toContain("AKIDEXAMPLE");
    expect(text).not.toContain(secret);
  }
});
