/** Settings that only some formats have: what each provider is sent, what the receipt lists, and the stop text of an answer. */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { callOptions } from "@sluice/inference-svc/models/upstream/ai-sdk/request.js";
import { chatBody } from "@sluice/inference-svc/models/upstream/chat/request.js";
import { ChatTranslator } from "@sluice/inference-svc/models/upstream/chat/stream.js";
import { cohereBody } from "@sluice/inference-svc/models/upstream/cohere/request.js";
import { converseBody } from "@sluice/inference-svc/models/upstream/converse/request.js";
import type { OnDropped, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { geminiBody } from "@sluice/inference-svc/models/upstream/gemini/request.js";
import { betaHeader } from "@sluice/inference-svc/models/upstream/messages/betas.js";
import { messagesBody } from "@sluice/inference-svc/models/upstream/messages/request.js";
import { MessagesTranslator } from "@sluice/inference-svc/models/upstream/messages/stream.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import { boundCost } from "@sluice/inference-svc/models/routing/price/worst-cost.js";
import { Catalog } from "@sluice/inference-svc/models/routing/catalog.js";
import { type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import { testRequest, testConfig, openEngine, runTestTurn } from "../../asking.js";

const edits = '{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}';
const compaction = '[{"type":"compaction","compact_threshold":1000}]';
const all: Partial<TurnRequest> = {
  stop: ["END", "\n\n"],
  seed: 7,
  logitBias: { "5": -100 },
  predictionJson: '{"type":"content","content":"draft"}',
  anthropicBetas: ["effort-2025-11-24", "new-thing"],
  contextManagementJson: edits,
};
const other: Target = { upstreamModel: "m", tier: "default", original: false };
const vendor: Target = { ...other, original: true };
type Write = (request: TurnRequest, target: Target, drop: OnDropped) => unknown;
const sdk: Write = (request, target, drop) => callOptions(request, target, drop, "v4");

function write(translate: Write, target: Target, request = all) {
  const notSent: string[] = [];
  const body = translate(testRequest(request), target, (path) => void notSent.push(path));
  return { body: (typeof body === "string" ? JSON.parse(body) : body) as Record<string, unknown>, notSent };
}

const prediction = { type: "content", content: "draft" };

test.each([
  ["beside another", [{ type: "compact_20260112", pause_after_compaction: true }, { type: "clear_thinking_20251015" }]],
  ["alone", [{ type: "compact_20260112" }]],
])("a context edit that replaces the answer by a summary is not sent, %s", (_, listed) => {
  const request = { contextManagementJson: JSON.stringify({ edits: listed }) };
  const { body, notSent } = write(messagesBody, vendor, request);
  const kept = listed.slice(1);
  expect(body["context_management"]).toEqual(kept.length === 0 ? undefined : { edits: kept });
  expect(notSent).toEqual(["context_management.edits.0"]);
});

describe("all extensions of a request together", () => {
  test.each<[string, Write, Target, object, string[]]>([
    [
      "chat",
      chatBody,
      other,
      { stop: ["END", "\n\n"], seed: 7, logit_bias: { "5": -100 } },
      ["prediction", "anthropic_betas", "context_management"],
    ],
    [
      "chat of its vendor",
      chatBody,
      vendor,
      { stop: ["END", "\n\n"], seed: 7, logit_bias: { "5": -100 }, prediction },
      ["anthropic_betas", "context_management"],
    ],
    [
      "chat where prediction is named",
      chatBody,
      { ...other, supportedParameters: ["prediction"] },
      { prediction },
      ["anthropic_betas", "context_management"],
    ],
    [
      "responses",
      responsesBody,
      other,
      {
        stop: ["END", "\n\n"],
        seed: 7,
        logit_bias: { "5": -100 },
        prediction,
        anthropic_betas: all.anthropicBetas,
        context_management: JSON.parse(edits),
      },
      [],
    ],
    [
      "responses of its vendor",
      responsesBody,
      vendor,
      {},
      ["stop", "seed", "logit_bias", "prediction", "anthropic_betas", "context_management"],
    ],
    [
      "messages",
      messagesBody,
      other,
      { stop_sequences: ["END"] },
      ["seed", "logit_bias", "prediction", "stop", "anthropic_betas", "context_management"],
    ],
    [
      "messages of its vendor",
      messagesBody,
      vendor,
      { stop_sequences: ["END"], context_management: JSON.parse(edits) },
      ["seed", "logit_bias", "prediction", "stop"],
    ],
    [
      "gemini",
      geminiBody,
      other,
      { generationConfig: { stopSequences: ["END", "\n\n"], seed: 7 } },
      ["logit_bias", "prediction", "anthropic_betas", "context_management"],
    ],
    [
      "converse",
      converseBody,
      other,
      { inferenceConfig: { stopSequences: ["END", "\n\n"] } },
      ["seed", "logit_bias", "prediction", "anthropic_betas", "context_management"],
    ],
    [
      "cohere",
      cohereBody,
      other,
      { stop_sequences: ["END", "\n\n"], seed: 7 },
      ["logit_bias", "prediction", "anthropic_betas", "context_management"],
    ],
    [
      "ai-sdk",
      sdk,
      other,
      { stopSequences: ["END", "\n\n"], seed: 7 },
      ["logit_bias", "prediction", "anthropic_betas", "context_management"],
    ],
  ])("are sent or named as not sent by %s", (_, translate, target, sent, expected) => {
    const { body, notSent } = write(translate, target);
    expect(body).toMatchObject(sent);
    expect(notSent.toSorted()).toEqual(expected.toSorted());
    const text = JSON.stringify(body);
    for (const path of expected) if (path !== "stop") expect(text).not.toContain(`"${path}"`);
  });
});

describe("limits of a provider", () => {
  const stop = ["a", "b", "c", "d", "e", "f"];

  test.each<[string, Write, Target, object, string[]]>([
    ["chat of its vendor", chatBody, vendor, { stop: ["a", "b", "c", "d"] }, ["stop"]],
    ["chat elsewhere", chatBody, other, { stop }, []],
    ["gemini", geminiBody, other, { generationConfig: { stopSequences: ["a", "b", "c", "d", "e"] } }, ["stop"]],
    ["cohere", cohereBody, other, { stop_sequences: ["a", "b", "c", "d", "e"] }, ["stop"]],
    ["messages", messagesBody, other, { stop_sequences: stop }, []],
  ])("allow %s only a number of stop sequences", (_, translate, target, sent, notSent) => {
    const written = write(translate, target, { stop });
    expect(written.body).toMatchObject(sent);
    expect(written.notSent).toEqual(notSent);
  });

  test.each<[string, Write, number]>([
    ["gemini", geminiBody, 2 ** 31],
    ["cohere", cohereBody, -1],
  ])("allow %s no seed outside its range", (_, translate, seed) => {
    const { body, notSent } = write(translate, other, { seed });
    expect(JSON.stringify(body)).not.toContain("seed");
    expect(notSent).toEqual(["seed"]);
  });

  test("allow messages no stop sequences of only white space", () => {
    expect(write(messagesBody, vendor, { stop: [" "] }).body).not.toHaveProperty("stop_sequences");
  });

  test("send each format of context edits to the provider that supports it", () => {
    const listed = { contextManagementJson: compaction };
    const toResponses = write(responsesBody, vendor, listed);
    expect(toResponses.body).toMatchObject({ context_management: JSON.parse(compaction) });
    expect(toResponses.notSent).toEqual([]);
    expect(write(messagesBody, vendor, listed).notSent).toEqual(["context_management"]);
  });
});

describe("the header anthropic-beta", () => {
  const header = (request: Partial<TurnRequest>, target = vendor) =>
    betaHeader(testRequest(request), target)?.["anthropic-beta"];

  test("has the names of the request, and the name needed for edits", () => {
    expect(header({ anthropicBetas: ["a", "b"] })).toBe("a,b");
    expect(header({ contextManagementJson: edits })).toBe("context-management-2025-06-27");
    const named = { anthropicBetas: ["context-management-2027-01-01"], contextManagementJson: edits };
    expect(header(named)).toBe("context-management-2027-01-01");
    expect(header({})).toBeUndefined();
    expect(header(all, other)).toBeUndefined();
  });

  test("has the name needed for updates of thinking where the model knows them", () => {
    const wish: Partial<TurnRequest> = { reasoning: { effort: "high", summary: "updates" } };
    const knowing = { ...vendor, supportedParameters: ["reasoning", "thinking.updates"] };
    expect(header(wish, knowing)).toBe("thinking-display-updates-2026-08-18");
    expect(header({ ...wish, anthropicBetas: ["thinking-display-updates-2027-01-01"] }, knowing)).toBe(
      "thinking-display-updates-2027-01-01",
    );
    expect([header(wish), header({ reasoning: { effort: "high", summary: "auto" } }, knowing)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  let upstream: Upstream | undefined;
  afterEach(() => upstream?.stop());

  test("reaches a server with support for it, only for this request", async () => {
    upstream = await startUpstream([{ status: 400, chunks: [{ json: { type: "error" } }] }]);
    const engine = openEngine(
      testConfig({
        providers: [{ id: "claude", dialect: "messages", base_url: upstream.url, api_keys: ["k"] }],
        models: [
          { id: "acme/large-2", endpoints: [{ provider: "claude", supported_parameters: ["anthropic_betas"] }] },
        ],
      }),
    );
    await runTestTurn(engine.turn, testRequest({ anthropicBetas: ["a", "b"] }));
    await runTestTurn(engine.turn, testRequest({}));
    await engine.upstreams.close();
    expect(upstream.requests.map(({ headers }) => headers["anthropic-beta"])).toEqual(["a,b", undefined]);
    expect(upstream.requests.map(({ headers }) => headers["x-api-key"])).toEqual(["k", "k"]);
  });
});

describe("the stop sequence of an answer", () => {
  const stops = testRequest({ stop: ["END"] });

  function readMessagesStop(sequence: string | null) {
    const events: TurnEvent[] = [];
    const translator = new MessagesTranslator(stops, vendor, (event) => events.push(event));
    const delta = { stop_reason: sequence === null ? "end_turn" : "stop_sequence", stop_sequence: sequence };
    translator.event(
      "message_start",
      JSON.stringify({ type: "message_start", message: { usage: { input_tokens: 1 } } }),
    );
    translator.event("message_delta", JSON.stringify({ type: "message_delta", delta, usage: { output_tokens: 1 } }));
    translator.event("message_stop", '{"type":"message_stop"}');
    return events.at(-1);
  }

  test("is named by Messages, if the client has sent it", () => {
    expect(readMessagesStop("END")).toMatchObject({ outcome: { status: "completed", stopSequence: "END" } });
    expect(readMessagesStop("other")).toMatchObject({ outcome: { stopSequence: undefined } });
    expect(readMessagesStop(null)).toMatchObject({ outcome: { stopSequence: undefined } });
  });

  test.each([
    ["stop_reason", "END", "END"],
    ["matched_stop", "END", "END"],
    ["stop_reason", 128_001, undefined],
    ["stop_reason", "other", undefined],
  ])("is named by some chat servers: %s %s", (field, named, expected) => {
    const events: TurnEvent[] = [];
    const translator = new ChatTranslator(stops, other, (event) => events.push(event));
    const choice = { index: 0, message: { content: "a" }, finish_reason: "stop", [field]: named };
    translator.event(
      undefined,
      JSON.stringify({ choices: [choice], usage: { prompt_tokens: 1, completion_tokens: 1 } }),
    );
    translator.close();
    expect(events.at(-1)).toMatchObject({ outcome: { stopSequence: expected } });
  });

  test.each([true, false])("is named by the built-in model, through all layers, streamed: %s", async (stream) => {
    const engine = openEngine(
      testConfig({
        providers: [{ id: "sluice", dialect: "echo" }],
        models: [{ id: "sluice/echo", endpoints: [{ provider: "sluice" }] }],
      }),
    );
    const runRequest = { models: ["sluice/echo"], text: "one two three", stop: ["zero", "three", " two"], stream };
    const { events } = await runTestTurn(engine.turn, testRequest(runRequest));
    await engine.upstreams.close();
    const said = events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
    expect(JSON.stringify(said)).toContain('the built-in model. You said: one"');
    expect(events.at(-1)).toMatchObject({ outcome: { status: "completed", stopSequence: " two" } });
  });
});

test("a prediction counts against a budget as if none of it were used", () => {
  const catalog = new Catalog(
    testConfig({
      providers: [{ id: "acme", dialect: "chat", base_url: "http://127.0.0.1:9" }],
      models: [{ id: "a/b", endpoints: [{ provider: "acme", pricing: { prompt: "0", completion: "1" } }] }],
    }),
  );
  const endpoint = catalog.find("a/b")?.model.endpoints[0];
  const cost = (request: Partial<TurnRequest>) =>
    endpoint && boundCost(endpoint, testRequest({ maxOutputTokens: 10, ...request }))?.pico;
  const predictionJson = all.predictionJson as string;
  expect(cost({ predictionJson })).toBe(BigInt(10 + predictionJson.length) * 1_000_000n);
});
