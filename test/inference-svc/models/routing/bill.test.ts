/**
 * Reported usage and cost of turns: by the figures of providers, by estimates where there are none, and for failed
 * turns.
 */
import { toDeferredAnswer, readToEnd } from "@sluice/inference-svc/turn/answer-kinds.js";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { measureInput, estimateInputTokens, estimateTokens } from "@sluice/inference-svc/models/estimate/tokens.js";
import { type Layer, type Outcome, compose } from "@sluice/inference-svc/turn/turn.js";
import type { Usage } from "@sluice/inference-svc/turn/usage.js";
import {
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  startUpstream,
} from "../../../support/providers/upstream.js";
import {
  type TestScope,
  type Engine,
  testRequest,
  functionTool,
  testConfig,
  newScope,
  unlimitedBudget,
  openEngine,
  runTestTurn,
} from "../../asking.js";
import { messagesStart, messagesStop, messagesTextBlock } from "../dialects/messages-translation.js";
import { completedEvent } from "../../features/guardrails/reading.js";

let acme: Upstream;
let borealis: Upstream;
let engine: Engine;

const pricing = { prompt: "1", completion: "2" };

beforeEach(async () => {
  acme = await startUpstream();
  borealis = await startUpstream([chatStream("Hi")]);
  const provider = (id: string, upstream: Upstream, dialect: string) => ({
    id,
    dialect,
    base_url: `${upstream.url}/v1`,
  });
  const model = (id: string, ...endpoints: object[]) => ({ id, endpoints, input_modalities: ["text", "image"] });
  engine = openEngine(
    testConfig({
      providers: [
        provider("acme", acme, "chat"),
        provider("messages", acme, "messages"),
        provider("responses", acme, "responses"),
        provider("borealis", borealis, "chat"),
        { id: "echo", dialect: "echo" },
      ],
      models: [
        model("acme/large-2", { provider: "acme", pricing }),
        model("acme/messages", {
          provider: "messages",
          pricing: { ...pricing, cache_read: "0.1", cache_write: "1.25", cache_write_1h: "2", web_search: "0.01" },
        }),
        model("acme/responses", { provider: "responses", pricing }),
        model("acme/unpriced", { provider: "acme" }),
        model("acme/images", { provider: "acme", pricing: { ...pricing, image: "0.5", image_output: "0.25" } }),
        model(
          "two",
          { provider: "acme", pricing },
          { provider: "borealis", pricing: { prompt: "10", completion: "20" } },
        ),
        model(
          "tiers",
          { provider: "acme", upstream_model: "t", tier: "priority", pricing: { prompt: "2", completion: "4" } },
          { provider: "acme", upstream_model: "t", pricing },
        ),
        model("echo", { provider: "echo", pricing: { prompt: "0", completion: "0" } }),
      ],
    }),
  );
});
afterEach(async () => {
  await engine.upstreams.close();
  await Promise.all([acme.stop(), borealis.stop()]);
});

const micro = (dollars: number): bigint => BigInt(dollars) * 1_000_000n;

async function outcomeOf(reply: Reply, request: Parameters<typeof testRequest>[0] = {}): Promise<Outcome> {
  acme.script([reply]);
  const { events, fault } = await runTestTurn(engine.turn, testRequest(request));
  if (fault) throw fault;
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return end.outcome;
}

const stream = (...events: unknown[]): Reply => ({ chunks: [{ sse: events }] });
const chat = (chunks: readonly unknown[]): Reply => stream(...chunks, chatChunk({}, "stop"), "[DONE]");

describe("the bill of a turn with the provider's usage", () => {
  test.each([true, false])("counts a chat answer; stream: %s", async (isStream) => {
    const usage = { prompt_tokens: 1_000, completion_tokens: 200, prompt_tokens_details: { cached_tokens: 100 } };
    const reply = isStream
      ? chat([chatChunk({ content: "Hi" }), { choices: [], usage }])
      : chatAnswer({ role: "assistant", content: "Hi" }, "stop", { usage });
    expect((await outcomeOf(reply, { stream: isStream })).usage).toEqual({
      inputTokens: 1_000,
      cachedTokens: 100,
      cacheWriteTokens: 0,
      outputTokens: 200,
      reasoningTokens: 0,
      cost: { input: micro(1_000), output: micro(400), serverTools: 0n },
    });
  });

  test("counts a Messages answer with searches, cached for five minutes and for an hour", async () => {
    const figures = {
      input_tokens: 100,
      cache_read_input_tokens: 1_000,
      cache_creation_input_tokens: 300,
      // https://platform.claude.com/docs/en/build-with-claude/prompt-caching
      cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
      server_tool_use: { web_search_requests: 2 },
      output_tokens: 1,
    };
    const reply = stream(
      messagesStart(figures),
      ...messagesTextBlock(0, "Hi"),
      ...messagesStop("end_turn", { output_tokens: 50 }),
    );
    expect((await outcomeOf(reply, { models: ["acme/messages"] })).usage).toMatchObject({
      inputTokens: 1_400,
      cacheWriteHourTokens: 100,
      cost: { input: micro(100 + 100 + 250 + 200), output: micro(100), serverTools: micro(20_000) },
    });
  });

  test("has no cost without a price", async () => {
    expect((await outcomeOf(chatStream("Hi"), { models: ["acme/unpriced"] })).usage?.cost).toBeUndefined();
  });

  test("is zero at a price of zero", async () => {
    const { usage } = await outcomeOf(chatStream("Hi"), { models: ["echo"] });
    expect(usage?.cost).toEqual({ input: 0n, output: 0n, serverTools: 0n });
  });

  test("counts images of the input charged per image", async () => {
    const image = { type: "input_image", image_url: "https://example.com/a.png" };
    const input = [{ type: "message", role: "user", content: [image, image] }];
    const { usage } = await outcomeOf(chatStream("Hi"), { models: ["acme/images"], input });
    expect(usage?.cost?.input).toBe(micro(1_000_012));
  });

  test("counts images of the answer", async () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } };
    const reply = chat([
      chatChunk({ images: [image, image] }),
      { choices: [], usage: { prompt_tokens: 0, completion_tokens: 10 } },
    ]);
    const { usage } = await outcomeOf(reply, { models: ["acme/images"] });
    expect(usage?.cost?.output).toBe(micro(500_020));
  });

  test.each([
    ["priority", 48],
    ["default", 24],
    [undefined, 48],
    ["auto", 48],
  ])("uses the price of the serving tier: %s", async (service_tier, input) => {
    const usage = { prompt_tokens: 24, completion_tokens: 0 };
    const reply = chat([chatChunk({ content: "Hi" }), { choices: [], usage, service_tier }]);
    const { cost } = (await outcomeOf(reply, { models: ["tiers"], serviceTier: "priority" })).usage as Usage;
    expect(cost?.input).toBe(micro(input));
  });

  test.each([
    ["priority", 48],
    ["flex", 24],
    ["default", 24],
  ])("of the tier %s without a separate price uses at least the usual price", async (service_tier, input) => {
    const usage = { prompt_tokens: 24, completion_tokens: 0 };
    const reply = chat([chatChunk({ content: "Hi" }), { choices: [], usage, service_tier }]);
    const { cost } = (await outcomeOf(reply, { serviceTier: service_tier })).usage as Usage;
    expect(cost?.input).toBe(micro(input));
  });
});

describe("the bill of a turn without the provider's usage", () => {
  test.each([true, false])("is estimated by size, and marked; stream: %s", async (isStream) => {
    const answer = "The largest moon of Saturn is Titan. ".repeat(10);
    const reply = isStream
      ? chat([chatChunk({ reasoning_content: "x".repeat(40) }), chatChunk({ content: answer })])
      : chatAnswer({ role: "assistant", reasoning_content: "x".repeat(40), content: answer }, "stop", { usage: null });
    const { usage } = await outcomeOf(reply, { stream: isStream, text: "y".repeat(400) });
    expect(usage).toEqual({
      // The role "user" is counted, too.
      inputTokens: 101 + 4,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 93 + 10,
      reasoningTokens: 10,
      estimated: true,
      cost: { input: micro(105), output: micro(206), serverTools: 0n },
    });
  });

  test("ignores zeros of a server that did not count", async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    const reply = chat([chatChunk({ content: "Hello" }), { choices: [], usage }]);
    expect((await outcomeOf(reply)).usage).toMatchObject({ inputTokens: 6, outputTokens: 2, estimated: true });
  });
});

describe("the bill of a failing turn", () => {
  async function failing(
    reply: Reply,
    request: Parameters<typeof testRequest>[0] = {},
    testScope: TestScope = newScope(),
  ) {
    acme.script([reply]);
    const { fault } = await runTestTurn(engine.turn, testRequest(request), testScope);
    expect(fault).toBeDefined();
    return testScope.scope.trace.usage;
  }

  test("is empty without any output", async () => {
    expect(await failing({ status: 503 })).toBeUndefined();
    expect(
      await failing(stream(messagesStart({ input_tokens: 500, output_tokens: 1 })), { models: ["acme/messages"] }),
    ).toBeUndefined();
  });

  /** The failure comes after the first events for the client. */
  async function breaking(said: readonly unknown[], then: readonly unknown[], model: string) {
    const testScope = newScope();
    let release = () => {};
    const after = new Promise<void>((resolve) => {
      release = resolve;
    });
    acme.script([{ chunks: [{ sse: said }, { sse: then, after }] }]);
    const batches = engine.turn(testRequest({ models: [model] }), testScope.scope)[Symbol.asyncIterator]();
    await batches.next();
    release();
    await expect(batches.next()).rejects.toThrow();
    return testScope.scope.trace.usage;
  }

  test("has the reported usage, and its output by size, when it fails during its answer", async () => {
    const said = [messagesStart({ input_tokens: 500, output_tokens: 1 }), ...messagesTextBlock(0, "z".repeat(400))];
    expect(await breaking(said, [], "acme/messages")).toMatchObject({
      inputTokens: 500,
      outputTokens: 100,
      estimated: true,
      cost: { input: micro(500), output: micro(200) },
    });
  });

  test("is not estimated with usage", async () => {
    const delta = { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: "Hello" };
    const response = {
      ...completedEvent([]).response,
      status: "failed",
      error: { code: "server_error", message: "no" },
      usage: { input_tokens: 90, output_tokens: 30, total_tokens: 120 },
    };
    const usage = await breaking([delta], [{ type: "response.failed", response }], "acme/responses");
    expect(usage).toMatchObject({ inputTokens: 90, outputTokens: 30, cost: { input: micro(90), output: micro(60) } });
    expect(usage?.estimated).toBeUndefined();
  });

  test("of a client that leaves has its output until then", async () => {
    const testScope = newScope();
    acme.script([{ chunks: [{ sse: [chatChunk({ content: "z".repeat(40) })] }], hang: true }]);
    const answer = engine.turn(testRequest(), testScope.scope);
    const batches = answer[Symbol.asyncIterator]();
    await batches.next();
    testScope.abort.abort(new Error("gone"));
    await expect(batches.next()).rejects.toThrow();
    expect(testScope.scope.trace.usage).toMatchObject({ outputTokens: 10, estimated: true });
  });
});

test("an attempt that fails before any output is free, and its fallback is charged", async () => {
  const testScope = newScope();
  acme.script([stream({ error: { message: "no", code: 500 } })]);
  const { events } = await runTestTurn(engine.turn, testRequest({ models: ["two"] }), testScope);
  const cost = { input: micro(120), output: micro(20), serverTools: 0n };
  expect(events.at(-1)).toMatchObject({ outcome: { usage: { inputTokens: 12, outputTokens: 1, cost } } });
  expect([testScope.scope.trace.bills.length, testScope.scope.trace.usage?.cost]).toEqual([2, cost]);
});

test("a turn with two calls is charged for both", async () => {
  acme.script([chatStream("Hi")]);
  /** This layer repeats the turn after the first answer. */
  const twice: Layer = (turn) => (request, scope) => {
    const again = async () => {
      await readToEnd(turn(request, scope));
      return turn(request, scope);
    };
    return toDeferredAnswer(again());
  };
  const testScope = newScope();
  await runTestTurn(compose([twice], engine.turn), testRequest(), testScope);
  expect(testScope.scope.trace.usage).toMatchObject({
    inputTokens: 24,
    outputTokens: 2,
    cost: { input: micro(24), output: micro(4), serverTools: 0n },
  });
});

describe("the estimated cost of a request", () => {
  test("uses the author's vocabulary", () => {
    expect([
      estimateTokens(700, "anthropic/claude"),
      estimateTokens(700, "openai/gpt"),
      estimateTokens(1, "x"),
    ]).toEqual([200, 175, 1]);
  });

  test("counts all text for a model, and media by their number", () => {
    const request = testRequest({
      instructions: "a".repeat(40),
      tools: [functionTool({ parametersJson: `{"description":"${"b".repeat(400)}"}` })],
      input: [
        {
          type: "message",
          id: "x".repeat(4_000),
          role: "user",
          content: [
            { type: "input_text", text: "é".repeat(200) },
            { type: "input_image", image_url: `data:image/png;base64,${"A".repeat(100_000)}` },
            { type: "input_file", file_data: "A".repeat(100_000) },
          ],
        },
        { type: "function_call", call_id: "c", name: "f", arguments: `{"a":"${"c".repeat(100)}"}` },
      ],
    });
    const size = measureInput(request);
    expect(size).toMatchObject({ items: 2, media: { images: 1, audios: 0, others: 1 } });
    expect(size.textBytes).toBeGreaterThan(40 + 400 + 400 + 100);
    expect(size.textBytes).toBeLessThan(1_100);
    // A picture of unknown size, and a document of 75,000 bytes.
    expect(estimateInputTokens(size, "x")).toBe(Math.ceil(size.textBytes / 4) + 8 + 1_000 + Math.ceil(75_000 / 32));
  });
});

test("the call of a client that leaves during the budget's check is recorded, so that its hold is released", async () => {
  const testScope = newScope({ hasBudget: true });
  const leaving = {
    reserve: () => {
      testScope.abort.abort(new Error("left"));
      return Promise.resolve(unlimitedBudget);
    },
  };
  const guarded = openEngine(testConfig({ url: acme.url }), undefined, undefined, leaving);
  await runTestTurn(guarded.turn, testRequest(), testScope);
  expect(guarded.closed).toMatchObject([{ status: "cancelled", isEstimated: false }]);
  expect(acme.requests).toEqual([]);
  await guarded.upstreams.close();
});
