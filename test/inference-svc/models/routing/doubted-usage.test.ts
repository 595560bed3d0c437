/** Token counts of providers that cannot be right are replaced by estimates, in every format, and plausible counts stay unchanged. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { totalCost } from "@sluice/inference-svc/turn/usage.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";

let provider: Upstream;
let engine: Engine;

const dialects = ["chat", "responses", "messages", "gemini", "cohere", "converse", "mistral-ocr"];
/** 1 USD for a million tokens of input, 2 of output, so a token of input costs 10^6 of 10^-12 USD. */
const pricing = { prompt: "1", completion: "2", web_search: "0.01", page: "0.002" };

beforeAll(async () => {
  provider = await startUpstream();
  const access = (dialect: string) =>
    dialect === "converse"
      ? { aws: { region: "eu-central-1", access_key_id: "A", secret_access_key: "s" } }
      : { api_keys: ["k"] };
  engine = openEngine(
    testConfig({
      providers: dialects.map((id) => ({ id, dialect: id, base_url: `${provider.url}/v1`, ...access(id) })),
      models: [
        ...dialects.map((id) => ({
          id: `${id}/m`,
          context_length: 128_000,
          endpoints: [{ provider: id, upstream_model: "m", pricing }],
          input_modalities: ["text", "image", "file"],
        })),
        { id: "chat/e", output_modalities: ["embeddings"], endpoints: [{ provider: "chat", pricing }] },
      ],
    }),
  );
});
afterAll(async () => {
  await engine.upstreams.close();
  await provider.stop();
});

interface Claim {
  readonly input?: number;
  readonly output?: number;
  readonly text?: string;
}

const sse = (...events: readonly unknown[]): Reply => ({ chunks: [{ sse: events }] });
const json = (value: object): Reply => ({ chunks: [{ json: value }] });

/** Answers with the token counts of a claim. */
const formats: Readonly<Record<string, (claim: Required<Claim>) => Reply>> = {
  "chat, whole": ({ input, output, text }) =>
    json({
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: { prompt_tokens: input, completion_tokens: output },
    }),
  "chat, streamed": ({ input, output, text }) =>
    sse(
      chatChunk({ content: text }),
      chatChunk({}, "stop"),
      { choices: [], usage: { prompt_tokens: input, completion_tokens: output } },
      "[DONE]",
    ),
  "responses, whole": ({ input, output, text }) => json(responseOf(input, output, text)),
  "responses, streamed": ({ input, output, text }) =>
    sse({ type: "response.completed", response: responseOf(input, output, text) }),
  "messages, whole": ({ input, output, text }) =>
    json({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, cache_read_input_tokens: input - 1, output_tokens: output },
    }),
  "messages, streamed": ({ input, output, text }) =>
    sse(
      {
        type: "message_start",
        message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: input } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: output } },
      { type: "message_stop" },
    ),
  "gemini, whole": ({ input, output, text }) => json(candidateOf(input, output, text)),
  "gemini, streamed": ({ input, output, text }) => sse(candidateOf(input, output, text)),
  "cohere, whole": ({ input, output, text }) =>
    json({
      id: "1",
      finish_reason: "COMPLETE",
      message: { role: "assistant", content: [{ type: "text", text }] },
      usage: { billed_units: { input_tokens: input, output_tokens: output } },
    }),
  "converse, whole": ({ input, output, text }) =>
    json({
      output: { message: { role: "assistant", content: [{ text }] } },
      stopReason: "end_turn",
      usage: { inputTokens: input, outputTokens: output },
    }),
};

function responseOf(input_tokens: number, output_tokens: number, text: string): object {
  const content = [{ type: "output_text", text, annotations: [] }];
  const output = [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content }];
  return { id: "resp_1", object: "response", status: "completed", output, usage: { input_tokens, output_tokens } };
}

const candidateOf = (promptTokenCount: number, candidatesTokenCount: number, text: string): object => ({
  candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }],
  usageMetadata: { promptTokenCount, candidatesTokenCount },
});

async function runRequest(model: string, reply: Reply, request: Parameters<typeof testRequest>[0] = {}) {
  provider.script([reply]);
  const testScope = newScope();
  const { events, fault } = await runTestTurn(
    engine.turn,
    testRequest({ models: [model], text: "hi there", ...request }),
    testScope,
  );
  if (fault) throw fault;
  const end = events.at(-1);
  if (end?.type !== "end" || !end.outcome.usage) throw new Error("no usage");
  const { usage } = end.outcome;
  return {
    usage,
    pico: usage.cost ? totalCost(usage.cost) : 0n,
    stages: testScope.scope.trace.stages.filter(({ type }) => type === "usage"),
    recorded: engine.closed.at(-1),
  };
}

const claim = (format: string, said: Claim, request: Parameters<typeof testRequest>[0] = {}) => {
  const [dialect = "", kind] = format.split(", ");
  const reply = formats[format]!({ input: 12, output: 2, text: "Hello.", ...said });
  return runRequest(`${dialect}/m`, reply, { stream: kind === "streamed", maxOutputTokens: 100, ...request });
};

/** The cost of "hi there" and "Hello." without a provider's count: at most 30 tokens each. */
const estimatedPico = 90_000_000n;

describe.each(Object.keys(formats))("doubtful usage of %s", (format) => {
  test.each<[string, Claim, string]>([
    ["a million tokens of input", { input: 1_000_000 }, "input_tokens"],
    ["100,000 tokens of input, which the window would hold", { input: 100_000 }, "input_tokens"],
    ["20,000 tokens of input", { input: 20_000 }, "input_tokens"],
    ["a million tokens of output", { output: 1_000_000 }, "output_tokens"],
    ["100,000 tokens of output", { output: 100_000 }, "output_tokens"],
    ["400 tokens of output, at a maximum of 100", { output: 400 }, "output_tokens"],
  ])("is replaced by an estimate: %s", async (_, said, figure) => {
    const { usage, pico, stages, recorded } = await claim(format, said);
    expect(usage).toMatchObject({ estimated: true });
    expect(pico).toBeLessThanOrEqual(estimatedPico);
    expect(stages).toMatchObject([{ type: "usage", data: { figures: [figure] } }]);
    expect(recorded).toMatchObject({ isEstimated: true });
    expect([...(recorded?.doubted ?? [])]).toEqual([figure]);
  });

  test.each<[string, Claim, Partial<TurnRequest>]>([
    ["a short answer", {}, {}],
    ["instructions that the provider adds", { input: 8_000 }, {}],
    ["a few tokens more than the maximum", { output: 110 }, {}],
    ["more than the maximum, for a text that is as long", { output: 900, text: "some words ".repeat(200) }, {}],
    ["the largest answer where no maximum was set", { output: 100_000 }, { maxOutputTokens: undefined as never }],
    ["a budget for thoughts beside the maximum", { output: 4_000 }, { reasoning: { maxTokens: 4_096 } }],
    ["a long prompt", { input: 60_000 }, { instructions: "0123456789".repeat(12_000) }],
    [
      "sealed thoughts",
      { input: 50_000 },
      {
        input: [
          { type: "message", role: "user", content: "hi there" },
          { type: "reasoning", summary: [], encrypted_content: "A".repeat(200_000) },
        ],
      },
    ],
    [
      "a picture",
      { input: 38_000 },
      {
        input: [
          {
            type: "message",
            role: "user",
            content: [{ type: "input_image", detail: "auto", image_url: "data:image/png;base64,iVBORw0KGgo=" }],
          },
        ],
      },
    ],
  ])("is charged unchanged if possible: %s", async (_, said, request) => {
    // Some formats take no pictures, or no reasoning of other vendors.
    if (format.startsWith("cohere") && request.input) return;
    const { usage, stages } = await claim(format, said, request);
    expect([usage.estimated, usage.inputTokens, usage.outputTokens]).toEqual([
      undefined,
      said.input ?? 12,
      said.output ?? 2,
    ]);
    expect(stages).toEqual([]);
  });
});

describe("the charged usage of a chat answer with", () => {
  const saying = (usage: object): Reply =>
    json({ choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }], usage });

  test("a total far above its parts has no invisible reasoning", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 100_000 };
    const { pico, stages } = await runRequest("chat/m", saying(usage), { stream: false, maxOutputTokens: 100 });
    expect(stages).toMatchObject([{ data: { figures: ["output_tokens"] } }]);
    expect(pico).toBeLessThanOrEqual(estimatedPico);
  });

  test.each([
    ["cached_tokens", { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 900 } }],
    [
      "reasoning_tokens",
      { prompt_tokens: 3, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 900 } },
    ],
  ])("%s above the total has at most the total", async (figure, usage) => {
    const asked = await runRequest("chat/m", saying(usage), { stream: false, maxOutputTokens: 100 });
    expect(asked.stages).toMatchObject([{ data: { figures: [figure] } }]);
    expect(asked.usage.cachedTokens).toBeLessThanOrEqual(asked.usage.inputTokens);
    expect(asked.usage.reasoningTokens).toBeLessThanOrEqual(asked.usage.outputTokens);
  });
});

test("a charge for a million web searches is limited to the searches in the answer", async () => {
  const usage = { input_tokens: 12, output_tokens: 2, server_tool_use: { web_search_requests: 1_000_000 } };
  const content = [{ type: "text", text: "Hello." }];
  const reply = json({ id: "msg_1", type: "message", role: "assistant", content, stop_reason: "end_turn", usage });
  const { pico, stages } = await runRequest("messages/m", reply, { stream: false, maxOutputTokens: 100 });
  expect(stages).toMatchObject([{ data: { figures: ["server_tool_use"] } }]);
  expect(pico).toBeLessThanOrEqual(estimatedPico);
});

test("the tools of a provider may be charged for the context window once for each step", async () => {
  const search = { type: "hosted" as const, kind: "web_search", spelling: "web_search", json: '{"type":"web_search"}' };
  const of = (input_tokens: number) =>
    json({ ...responseOf(input_tokens, 2, "Hello."), usage: { input_tokens, output_tokens: 2 } });
  const request = { stream: false, tools: [search], maxOutputTokens: 100 };
  expect((await runRequest("responses/m", of(600_000), request)).stages).toEqual([]);
  expect((await runRequest("responses/m", of(60_000_000), request)).stages).toHaveLength(1);
});

test("a thousand million tokens of an embedding are replaced by an estimate", async () => {
  provider.script([
    json({ data: [{ index: 0, embedding: [1, 2] }], usage: { prompt_tokens: 90_000_000, total_tokens: 90_000_000 } }),
  ]);
  const testScope = newScope();
  const request = testRequest({ models: ["chat/e"], text: "hi there", embedding: { encodingFormat: "float" } });
  const { events, fault } = await runTestTurn(engine.embed, request, testScope);
  expect(fault).toBeUndefined();
  expect(events.at(-1)).toMatchObject({ outcome: { usage: { inputTokens: 2, estimated: true } } });
  expect(testScope.scope.trace.stages).toMatchObject([{ type: "usage", data: { figures: ["input_tokens"] } }]);
});

test("pages beyond a document's length are not charged", async () => {
  const file = { type: "input_file", file_data: `data:application/pdf;base64,JVBERi0=`, filename: "a.pdf" };
  const reply = json({ pages: [{ index: 0, markdown: "a word" }], usage_info: { pages_processed: 90_000 } });
  const input = [{ type: "message", role: "user", content: [file] }];
  const { usage, stages } = await runRequest("mistral-ocr/m", reply, { stream: false, input });
  expect(stages).toMatchObject([{ data: { figures: ["pages"] } }]);
  expect(usage.pages).toBeLessThanOrEqual(1_000);
});

test("token counts received before a client left are checked for plausibility, too", async () => {
  provider.script([
    {
      chunks: [
        {
          sse: [
            {
              type: "message_start",
              message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: 1_000_000 } },
            },
            { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
            { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello." } },
          ],
        },
      ],
      hang: true,
    },
  ]);
  const testScope = newScope();
  const answer = engine.turn(
    testRequest({ models: ["messages/m"], text: "hi there", maxOutputTokens: 100 }),
    testScope.scope,
  );
  for await (const _ of answer) break;
  testScope.abort.abort(new Error("left"));
  await new Promise(setImmediate);
  const recorded = engine.closed.at(-1);
  expect([recorded?.isEstimated, (recorded?.tokens?.input ?? 0) < 30]).toEqual([true, true]);
});
