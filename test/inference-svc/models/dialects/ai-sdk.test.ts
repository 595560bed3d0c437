/**
 * Providers called through a package of the AI SDK: a real package against a scripted server of its vendor's format
 * (https://docs.mistral.ai/api/endpoint/chat), and parts as the interface describes them, for output that the vendor never sends.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { loadSdkPackages, leaveOutBrokenProviders } from "@sluice/inference-svc/models/upstream/ai-sdk/load.js";
import { callOptions } from "@sluice/inference-svc/models/upstream/ai-sdk/request.js";
import { refuseSdk } from "@sluice/inference-svc/models/upstream/ai-sdk/provider.js";
import { SdkReader } from "@sluice/inference-svc/models/upstream/ai-sdk/stream.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { LoadedConfig } from "@sluice/proto/config/config-file.js";
import fc from "../../../support/properties.js";
import { waitUntilStable } from "../../../support/clock.js";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../../support/providers/upstream.js";
import {
  type Engine,
  testRequest,
  functionTool,
  testConfig,
  itemsOf,
  maskIds,
  newScope,
  openEngine,
  runTestTurn,
  openAnswer,
} from "../../asking.js";
import { shownCall, shownMessage, shownPart, shownThought } from "./shown-items.js";

/** The same package in two major versions, one for each version of the interface. */
const packages = [
  ["v3", "@ai-sdk/mistral"],
  ["v4", "ai-sdk-mistral-4"],
] as const;
const end = (reason: string) => [
  chatChunk({}, reason, { usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 } }),
  "[DONE]",
];
const saying = (...words: string[]): Reply => ({
  chunks: [{ sse: [...words.map((content) => chatChunk({ role: "assistant", content })), ...end("stop")] }],
});

const said = (text: string, ...annotations: readonly unknown[]) => shownMessage(shownPart(text, ...annotations));

describe.each(packages)("the provider package of %s", (version, packageName) => {
  const dialect = `ai-sdk:${packageName}`;
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  async function open(replies: readonly Reply[], provider: object = {}): Promise<[Upstream, Engine]> {
    const upstream = await startUpstream(replies);
    closers.push(() => upstream.stop());
    const file = testConfig({ url: upstream.url, dialect, provider });
    const engine = openEngine(file, undefined, await loadSdkPackages(file.providers, undefined));
    closers.push(() => engine.upstreams.close());
    return [upstream, engine];
  }

  test.each([true, false])("gives an answer with its usage (stream: %s)", async (stream) => {
    const [upstream, { turn }] = await open([saying("Bon", "jour ☕")]);
    const { events } = await runTestTurn(turn, testRequest({ stream }));
    expect(maskIds(events.flatMap((event) => (event.type === "item.end" ? [event.item] : [])))).toEqual([
      said("Bonjour ☕"),
    ]);
    expect(events.at(-1)).toEqual({
      type: "end",
      outcome: {
        status: "completed",
        usage: { inputTokens: 12, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 },
        serviceTier: "default",
      },
    });
    const [request] = upstream.requests;
    expect([request?.path, request?.headers.authorization]).toEqual(["/v1/chat/completions", "Bearer upstream-key"]);
    expect(request?.headers["user-agent"]).toContain("sluice/0.0.0");
    expect(request?.json).toMatchObject({
      model: "large-2",
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
      stream: true,
    });
  });

  /** A chunk of an answer with this number of objects in addition to its text. */
  const objects = (count: number) =>
    chatChunk({ role: "assistant", content: "Hi" }, null, { more: Array.from({ length: count }, () => ({})) });

  test("does not parse an event of more JSON values than an answer may have", async () => {
    const [, { turn }] = await open([{ chunks: [{ sse: [objects(1_000_000), ...end("stop")] }] }]);
    const { fault } = await runTestTurn(turn, testRequest());
    expect([fault?.reason, fault?.message]).toEqual([
      FaultReason.PROVIDER_FAILED,
      "The answer is too large: more than 1000000 JSON values",
    ]);
  });

  test("reads an answer of many JSON values when no single event has too many", async () => {
    const events = [objects(350_000), objects(350_000), objects(350_000)];
    const [, { turn }] = await open([{ chunks: [{ sse: [...events, ...end("stop")] }] }]);
    const { events: read } = await runTestTurn(turn, testRequest());
    expect(maskIds(itemsOf(read))).toEqual([said("HiHiHi")]);
  });

  test("gives calls of functions and of provider tools as items", async () => {
    const call = (id: string, name: string, json: string) => ({ id, function: { name, arguments: json } });
    const tool_calls = [call("call00001", "f", '{"a":1}'), call("call00002", "patch", '{"input":"x\\n"}')];
    const [, { turn }] = await open([{ chunks: [{ sse: [chatChunk({ tool_calls }), ...end("tool_calls")] }] }]);
    const tools = [functionTool(), { type: "custom" as const, name: "patch", json: '{"type":"custom"}' }];
    const items = itemsOf((await runTestTurn(turn, testRequest({ tools }))).events);
    expect(maskIds(items)).toEqual([
      shownCall("f", '{"a":1}'),
      { type: "custom_tool_call", id: "masked", call_id: "masked", name: "patch", input: "x\n", status: "completed" },
    ]);
    expect(items.map((item) => item.call_id)).toEqual(["call00001", "call00002"]);
  });

  test("shows the sent body on request, without parts that the package drops", async () => {
    const [, { turn }] = await open([saying("Hi")]);
    const testScope = newScope();
    const { events } = await runTestTurn(turn, testRequest({ topK: 3, echoUpstreamBody: true }), testScope);
    expect(events[0]?.type === "debug" && JSON.parse(events[0].bodyJson)).toMatchObject({ model: "large-2" });
    expect(testScope.scope.trace.droppedFields).toEqual([{ path: "top_k", reason: expect.any(String) }]);
  });

  test("is sent images, and an effort if the interface supports it", async () => {
    const [upstream, { turn }] = await open([saying("A dot.")]);
    const image = { type: "input_image", image_url: "data:image/png;base64,QUJD", detail: "auto" };
    const input = [{ type: "message", role: "user", content: [{ type: "input_text", text: "What is it?" }, image] }];
    const testScope = newScope();
    const { fault } = await runTestTurn(turn, testRequest({ input, reasoning: { effort: "high" } }), testScope);
    expect([fault, upstream.requests[0]?.json["messages"]]).toEqual([
      undefined,
      [
        {
          role: "user",
          content: [
            { type: "text", text: "What is it?" },
            { type: "image_url", image_url: "data:image/png;base64,QUJD" },
          ],
        },
      ],
    ]);
    const paths = testScope.scope.trace.droppedFields.map(({ path }) => path);
    expect(paths).toEqual(version === "v3" ? ["reasoning"] : []);
  });

  test.each<[string, Reply, FaultReason, number]>([
    [
      "too many requests",
      { status: 429, headers: { "retry-after": "90" }, chunks: [{ json: { message: "slow down" } }] },
      FaultReason.RATE_LIMITED,
      90_000,
    ],
    [
      "what is wrong with the request",
      { status: 422, chunks: [{ json: { detail: "no" } }] },
      FaultReason.UNPROCESSABLE,
      0,
    ],
    ["a key that is refused", { status: 401, chunks: [{ json: {} }] }, FaultReason.PROVIDER_FAILED, 0],
    [
      "overloaded",
      { status: 529, headers: { "retry-after": "60" }, chunks: [{ bytes: "<html>" }] },
      FaultReason.PROVIDER_OVERLOADED,
      60_000,
    ],
    ["a redirect", { status: 307, headers: { location: "http://127.0.0.1:1/" } }, FaultReason.PROVIDER_FAILED, 0],
    ["no answer", { cut: true }, FaultReason.PROVIDER_FAILED, 0],
    ["a stream that is none", { chunks: [{ bytes: "data: {\n\n" }] }, FaultReason.PROVIDER_FAILED, 0],
    [
      "a stream without its reason to end",
      { chunks: [{ sse: [chatChunk({ content: "Hi" })] }] },
      FaultReason.PROVIDER_FAILED,
      0,
    ],
  ])("gives %s its meaning", async (_, reply, reason, retryAfterMs) => {
    for (const stream of [true, false]) {
      const [, { turn }] = await open([reply]);
      const { fault } = await runTestTurn(turn, testRequest({ stream }));
      // The gateway counts its own limit down, so some of the time may have passed.
      const retryAfterSeconds = Math.ceil((fault?.retryAfterMs ?? 0) / 1_000);
      expect([fault?.reason, retryAfterSeconds]).toEqual([reason, retryAfterMs / 1_000]);
    }
  });

  test("has a refused key paused", async () => {
    const refused: Reply = { status: 401, chunks: [{ json: {} }] };
    const [upstream, { turn }] = await open([refused, saying("Hi")], { api_keys: ["a", "b"] });
    for (let count = 0; count < 3; count++) await runTestTurn(turn, testRequest());
    const keys = upstream.requests.map(({ headers }) => headers.authorization);
    expect(keys).toEqual(["Bearer a", "Bearer b", "Bearer b", "Bearer b"]);
  });

  test("delivers text immediately, and fails a stream cut after text", async () => {
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const first = { sse: [chatChunk({ content: "Hel" })] };
    const [, { turn }] = await open([
      { chunks: [first, { after: finished, sse: [chatChunk({ content: "lo" })] }], cut: true },
    ]);
    const testScope = newScope();
    const answer = turn(testRequest(), testScope.scope);
    const events: TurnEvent[] = [];
    await expect(
      (async () => {
        for await (const batch of answer) {
          events.push(...batch);
          finish();
        }
      })(),
    ).rejects.toMatchObject({ reason: FaultReason.PROVIDER_FAILED });
    expect(events.flatMap((event) => (event.type === "text.delta" ? [event.delta] : [])).join("")).toMatch(
      /^Hel(lo)?$/,
    );
  });

  test.each([true, false])("closes the call of a client that leaves (stream: %s)", async (stream) => {
    const [upstream, { turn }] = await open([{ chunks: [{ sse: [chatChunk({ content: "Hel" })] }], hang: true }]);
    const testScope = newScope();
    const closed = upstream.nextClose();
    const requested = upstream.nextRequest();
    const answer = openAnswer(turn(testRequest({ stream }), testScope.scope));
    const outcome = answer.catch((error: unknown) => error);
    await (stream ? answer : requested);
    testScope.abort.abort(new Error("left"));
    await closed;
    if (!stream) expect(await outcome).toMatchObject({ reason: FaultReason.DEADLINE_EXCEEDED });
  });

  test.each<[string, Reply, object]>([
    ["a head", { hang: true }, { headers_ms: 100 }],
    ["an event", { chunks: [{ sse: [chatChunk({ content: "Hel" })] }], hang: true }, { idle_ms: 100 }],
  ])("waits for %s only up to a limit", async (_, reply, timeouts) => {
    const [upstream, { turn }] = await open([reply], { timeouts });
    const closed = upstream.nextClose();
    const { fault } = await runTestTurn(turn, testRequest());
    expect(fault?.reason).toBe(FaultReason.PROVIDER_TIMEOUT);
    await closed;
  });

  test("sends the request to the next endpoint when the first event is late", async () => {
    const late: Reply = { chunks: [{ sse: [chatChunk({ role: "assistant", content: "" })] }], hang: true };
    const upstream = await startUpstream([late, saying("Hi")]);
    closers.push(() => upstream.stop());
    const provider = { dialect, base_url: `${upstream.url}/v1`, api_keys: ["k"], timeouts: { first_event_ms: 100 } };
    const endpoint = (name: string) => ({ provider: name, upstream_model: "large-2" });
    const file = testConfig({
      providers: [
        { id: "one", ...provider },
        { id: "two", ...provider },
      ],
      models: [{ id: "acme/large-2", endpoints: [endpoint("one"), endpoint("two")] }],
    });
    const engine = openEngine(file, undefined, await loadSdkPackages(file.providers, undefined));
    closers.push(() => engine.upstreams.close());
    const closed = upstream.nextClose();
    const { events } = await runTestTurn(engine.turn, testRequest());
    expect([events.at(-1)?.type, upstream.requests.length]).toEqual(["end", 2]);
    await closed;
  });

  test("pauses the provider for a slow reader", async () => {
    const words = "x".repeat(32 * 1024);
    const [upstream, { turn }] = await open([
      { chunks: [{ sse: [chatChunk({ content: words })], repeat: 2_000 }, { sse: end("stop") }] },
    ]);
    const answer = await openAnswer(turn(testRequest(), newScope().scope));
    // Of 62 MiB, only the buffers of the sockets and of fetch, and 256 KiB of Sluice's own, are written.
    expect(await waitUntilStable(() => upstream.bytesWritten)).toBeLessThan(24 * 1024 * 1024);
    let length = 0;
    for await (const batch of answer) {
      for (const event of batch) if (event.type === "text.delta") length += event.delta.length;
    }
    expect(length).toBe(2_000 * words.length);
  });
});

describe("a request to the AI SDK interface", () => {
  const target = { upstreamModel: "m", tier: "default", original: false };
  function told(request: Partial<TurnRequest>, at = target, version: "v3" | "v4" = "v3") {
    const losses: string[] = [];
    const options = callOptions(testRequest(request), at, (path) => void losses.push(path), version);
    return { options, losses };
  }
  const say = (role: string, content: unknown) => ({ type: "message", role, content });
  const calls = (call_id: string, json = "{}") => ({
    type: "function_call",
    id: "i",
    call_id,
    name: "f",
    arguments: json,
  });
  const answers = (call_id: string, output: unknown) => ({ type: "function_call_output", call_id, output });
  const text = (words: string) => ({ type: "text", text: words });
  const toolCall = (toolCallId: string, input: object = {}) => ({
    type: "tool-call",
    toolCallId,
    toolName: "f",
    input,
  });
  const toolResult = (toolCallId: string, value: string) => ({
    type: "tool-result",
    toolCallId,
    toolName: "f",
    output: { type: "text", value },
  });

  test("has roles, and results right after their calls, with their images", () => {
    const image = { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" };
    const input = [
      say("developer", "d"),
      say("user", [{ type: "input_text", text: "u" }, image]),
      { type: "reasoning", id: "r", summary: [] },
      say("assistant", "Checking."),
      calls("a", '{"n":1}'),
      calls("b", '{"n":'),
      say("system", "later"),
      answers("a", "1"),
      answers("b", [{ type: "input_text", text: "2" }, image]),
      { type: "agent_message", author: "x", recipient: "y", content: [{ type: "input_text", text: "z" }] },
    ];
    const file = { type: "file", mediaType: "image/png", data: { type: "data", data: "AA" } };
    const { options, losses } = told({ instructions: "i", input });
    expect(options.prompt).toEqual([
      { role: "system", content: "i" },
      { role: "system", content: "d" },
      { role: "user", content: [text("u"), file] },
      {
        role: "assistant",
        content: [text("Checking."), toolCall("a", { n: 1 }), toolCall("b", { arguments: '{"n":' })],
      },
      { role: "tool", content: [toolResult("a", "1"), toolResult("b", "2")] },
      { role: "user", content: [text("later")] },
      { role: "user", content: [file] },
      { role: "user", content: [text("Message from x to y:"), text("z")] },
    ]);
    expect(losses).toEqual(["input.2", "input.6.role"]);
  });

  test("has files and sounds as data, and others are refused", () => {
    const content = [
      { type: "input_file", file_data: "data:text/csv;base64,AA", filename: "a.csv" },
      { type: "input_file", file_data: "JVBERAA" },
      { type: "input_audio", input_audio: { data: "AA", format: "mp3" } },
    ];
    expect(told({ input: [say("user", content)] }).options.prompt[0]?.content).toEqual([
      { type: "file", mediaType: "text/csv", data: { type: "data", data: "AA" }, filename: "a.csv" },
      { type: "file", mediaType: "application/pdf", data: { type: "data", data: "JVBERAA" } },
      { type: "file", mediaType: "audio/mp3", data: { type: "data", data: "AA" } },
    ]);
    const refused = (part: object) => refuseSdk(testRequest({ input: [say("user", [part])] }))?.path;
    for (const part of [
      { type: "input_image", image_url: "https://a.example/x.png" },
      { type: "input_file", file_url: "https://a.example/x.pdf" },
      { type: "input_video", video_url: "data:video/mp4;base64,AA" },
      { type: "encrypted_content", encrypted_content: "x" },
    ]) {
      expect(refused(part)).toBe("input.0.content.0");
    }
    expect(refuseSdk(testRequest({ outputModalities: ["image"] }))?.path).toBe("modalities");
    const search = { type: "hosted" as const, kind: "web_search", spelling: "web_search", json: "{}" };
    expect(refuseSdk(testRequest({ tools: [search] }))?.path).toBe("tools.0");
  });

  test("has tools, settings and the form of the answer", () => {
    const schemaJson = '{"type":"object","properties":{"a":{"type":"string"}}}';
    const { options, losses } = told({
      tools: [
        functionTool({ name: "f", description: "d", parametersJson: schemaJson, strict: true }),
        functionTool({ name: "g" }),
      ],
      toolChoice: { type: "tool", tool: { type: "function", name: "f" } },
      textFormat: { type: "json_schema", name: "n", schemaJson },
      maxOutputTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      frequencyPenalty: 1,
      presencePenalty: 2,
    });
    expect(options).toMatchObject({
      tools: [
        { type: "function", name: "f", description: "d", inputSchema: JSON.parse(schemaJson), strict: true },
        { type: "function", name: "g", inputSchema: { type: "object", properties: {} } },
      ],
      toolChoice: { type: "tool", toolName: "f" },
      responseFormat: { type: "json", name: "n", schema: JSON.parse(schemaJson) },
      maxOutputTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      topK: 4,
      frequencyPenalty: 1,
      presencePenalty: 2,
    });
    expect(losses).toEqual([]);
    for (const [toolChoice, type] of [
      ["auto", "auto"],
      ["required", "required"],
      ["none", "none"],
    ] as const) {
      expect(told({ tools: [functionTool()], toolChoice }).options.toolChoice).toEqual({ type });
    }
  });

  test("declares all other fields as not sent", () => {
    const { losses } = told(
      {
        input: [
          say("user", [{ type: "input_text", text: "x", cache_control: { type: "ephemeral" } }]),
          { type: "configuration_update", reasoning: { effort: "low" } },
        ],
        tools: [functionTool()],
        parallelToolCalls: false,
        reasoning: { effort: "low" },
        verbosity: "low",
        imageConfigJson: "{}",
        promptCacheKey: "k",
        cacheControl: { ttl: "5m" },
        maxToolCalls: 1,
        topLogprobs: 1,
        truncation: "auto",
        include: ["message.output_text.logprobs"],
      },
      { ...target, tier: "flex" },
    );
    expect(losses.toSorted()).toEqual(
      [
        "reasoning",
        "text.verbosity",
        "image_config",
        "prompt_cache_key",
        "cache_control",
        "max_tool_calls",
        "top_logprobs",
        "service_tier",
        "input.1",
        "include.0",
        "input.0.content.0.cache_control",
        "parallel_tool_calls",
      ].toSorted(),
    );
  });
});

test("version 4 of the AI SDK interface gets the last effort of a conversation, and no other reasoning setting", () => {
  const losses: string[] = [];
  const options = (request: Partial<TurnRequest>) =>
    callOptions(
      testRequest(request),
      { upstreamModel: "m", tier: "default", original: false },
      (path) => void losses.push(path),
      "v4",
    );
  expect(options({ reasoning: { effort: "low", summary: "auto", maxTokens: 9 } }).reasoning).toBe("low");
  expect(losses.toSorted()).toEqual(["reasoning.max_tokens", "reasoning.summary"]);
  const update = { type: "configuration_update", reasoning: { effort: "max" } };
  expect(options({ input: [update], reasoning: { effort: "low" } }).reasoning).toBe("max");
  expect(options({}).reasoning).toBeUndefined();
});

describe("an answer of the AI SDK interface", () => {
  type Part = LanguageModelV4StreamPart;
  const finish = (unified: "stop" | "length" | "other", raw?: string): Part => ({
    type: "finish",
    finishReason: { unified, raw },
    usage: {
      inputTokens: { total: 9, noCache: 4, cacheRead: 5, cacheWrite: undefined },
      outputTokens: { total: 7, text: 4, reasoning: 3 },
    },
  });
  function read(...parts: readonly Part[]): TurnEvent[] {
    const events: TurnEvent[] = [];
    const reader = new SdkReader(
      testRequest(),
      "default",
      (event) => events.push(event),
      () => undefined,
    );
    for (const part of parts) reader.read(part);
    reader.close();
    return events;
  }
  const words = (delta: string): Part => ({ type: "text-delta", id: "t", delta });
  const thinks = (delta: string): Part => ({ type: "reasoning-delta", id: "r", delta });

  test("gives reasoning, text, a call in pieces, an image, and sources", () => {
    const events = read(
      { type: "reasoning-start", id: "r" },
      thinks("h"),
      thinks("m"),
      words("É"),
      words("a"),
      { type: "source", sourceType: "url", id: "s", url: "https://a.example/", title: "A" },
      { type: "tool-input-start", id: "c", toolName: "f" },
      { type: "tool-input-delta", id: "c", delta: '{"a":' },
      { type: "tool-input-delta", id: "c", delta: "1}" },
      { type: "tool-call", toolCallId: "c", toolName: "f", input: '{"a":1}' },
      { type: "tool-call", toolCallId: "d", toolName: "g", input: "{}", providerExecuted: true },
      { type: "file", mediaType: "image/png", data: { type: "data", data: Uint8Array.of(65, 66, 67) } },
      finish("stop"),
    );
    const citation = { type: "url_citation", url: "https://a.example/", title: "A", start_index: 0, end_index: 2 };
    expect(maskIds(itemsOf(events))).toEqual([
      shownThought("hm"),
      said("Éa", citation),
      shownCall("f", '{"a":1}'),
      { type: "image_generation_call", id: "masked", status: "completed", result: "QUJD" },
    ]);
    expect(events.at(-1)).toMatchObject({
      outcome: { usage: { inputTokens: 9, cachedTokens: 5, outputTokens: 7, reasoningTokens: 3 } },
    });
  });

  test.each<[string, readonly Part[]]>([
    ["an end without a reason", [words("Hi"), finish("other")]],
    ["an error", [words("Hi"), { type: "error", error: new Error("boom") }]],
    ["an error that is none", [{ type: "error", error: 7 }]],
  ])("with %s is a failure", (_, parts) => {
    expect(() => read(...parts)).toThrow(expect.objectContaining({ reason: FaultReason.PROVIDER_FAILED }));
  });

  test("with a call in plain text pieces has the arguments of the whole call", () => {
    const events = read(
      { type: "ping" },
      { type: "tool-input-start", id: "c", toolName: "f", inputEncoding: "text" },
      { type: "tool-input-delta", id: "c", delta: "plain" },
      { type: "tool-call", toolCallId: "c", toolName: "f", input: '"plain"' },
      finish("stop"),
    );
    expect(maskIds(itemsOf(events))).toEqual([shownCall("f", '"plain"')]);
  });

  test("with an error in the stream keeps its status", () => {
    const error = Object.assign(new Error("slow down"), { statusCode: 429, responseHeaders: { "retry-after": "3" } });
    expect(() => read({ type: "error", error })).toThrow(
      expect.objectContaining({ reason: FaultReason.RATE_LIMITED, retryAfterMs: 3_000 }),
    );
    const unable = Object.assign(new Error("no video"), { name: "AI_UnsupportedFunctionalityError" });
    expect(() => read({ type: "error", error: unable })).toThrow(
      expect.objectContaining({ reason: FaultReason.INVALID_REQUEST, message: "no video" }),
    );
  });

  test("with any parts, in any order, gives items in the required order", () => {
    const id = fc.constantFrom("a", "b");
    const part = fc.oneof(
      fc.constantFrom("x", "", "☕").map(words),
      fc.constantFrom("x", "").map(thinks),
      id.map((each): Part => ({ type: "tool-input-start", id: each, toolName: "f" })),
      fc
        .tuple(id, fc.constantFrom('{"a":', "1}", ""))
        .map(([each, delta]): Part => ({ type: "tool-input-delta", id: each, delta })),
      id.map((each): Part => ({ type: "tool-input-end", id: each })),
      id.map((each): Part => ({ type: "tool-call", toolCallId: each, toolName: "f", input: "{}" })),
      fc.constantFrom<Part>(
        { type: "source", sourceType: "url", id: "s", url: "https://a.example/" },
        { type: "file", mediaType: "image/png", data: { type: "data", data: "QUJD" } },
        { type: "stream-start", warnings: [] },
        { type: "raw", rawValue: 1 },
      ),
    );
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 20 }),
        fc.constantFrom("stop" as const, "length" as const),
        (parts, reason) => {
          const events = read(...parts, finish(reason));
          expect([itemsOf(events).every((item) => item.status !== "in_progress"), events.at(-1)?.type]).toEqual([
            true,
            "end",
          ]);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe("packages of the AI SDK", () => {
  const configured = (...names: string[]): LoadedConfig => {
    const providers = names.map((name, index) => ({ id: `far-${index}`, dialect: `ai-sdk:${name}` }));
    const models = providers.map(({ id }) => ({ id, endpoints: [{ provider: id }] }));
    return { file: testConfig({ providers, models }), leftOut: [], files: [] };
  };
  const left = async (name: string, folder?: string) => {
    const loaded = configured(name, "@ai-sdk/mistral");
    const packages = await loadSdkPackages(loaded.file.providers, folder);
    const { file, leftOut } = leaveOutBrokenProviders(loaded, packages, "sluice.yaml");
    expect(file.models).toHaveLength(2 - leftOut.length);
    expect(() => openEngine(file, undefined, packages)).not.toThrow();
    return leftOut;
  };

  test("that cannot be loaded leave out their provider and its exclusive models, with the reason", async () => {
    const problem = (text: string) => [{ provider: "far-0", unset: [], problem: text }];
    expect(await left("nobody-has-this")).toEqual(
      problem("package nobody-has-this is not installed; npm install nobody-has-this"),
    );
    expect(await left("nobody-has-this", "/data/packages")).toEqual(
      problem("package nobody-has-this is not installed; npm install --prefix /data/packages nobody-has-this"),
    );
    expect(await left("fast-check")).toEqual(problem("package fast-check is no provider of the AI SDK"));
    expect(await left("pg")).toEqual(
      problem("package pg cannot be used: it exports 0 functions called create…, not one"),
    );
    expect(await left("ai-sdk-mistral-4")).toEqual([]);
  });

  test("that a configuration needs are named with both reasons when it is refused", async () => {
    const { file } = configured("nobody-has-this");
    const needing = { ...file, internal_models: { ...file.internal_models, guard_judge: { model: "far-0" } } } as never;
    const packages = await loadSdkPackages(file.providers, undefined);
    expect(() => leaveOutBrokenProviders({ file: needing, leftOut: [], files: [] }, packages, "sluice.yaml")).toThrow(
      /^sluice.yaml:\n {2}provider far-0: package .* is not installed.*\n {2}internal_models.guard_judge.model: no model is called far-0$/,
    );
  });

  test("may be in the operator's folder, which comes before Sluice's own modules", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-test-packages-"));
    const install = (name: string, manifest: object, files: Readonly<Record<string, string>>) => {
      const home = join(folder, "node_modules", name);
      for (const [path, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        writeFileSync(join(home, path), text);
      }
    };
    const v3 = "export const createIt = () => ({ specificationVersion: 'v3' });";
    const v9 = "export const createIt = () => ({ specificationVersion: 'v9' });";
    const esm = { type: "module" };
    install("plain", { ...esm, main: "lib/main.js" }, { "lib/main.js": v3 });
    install("nothing-said", esm, { "index.js": v3 });
    install("text", { ...esm, exports: "./it.js" }, { "it.js": v3 });
    install("root", { ...esm, exports: { ".": "./it.js", "./other": "./other.js" } }, { "it.js": v3 });
    const nested = { ".": { require: "./no.cjs", import: { types: "./it.d.ts", default: "./it.js" } } };
    install("@nested/it", { ...esm, exports: nested }, { "it.js": v3 });
    install("@ai-sdk/openai", { ...esm, exports: { default: "./it.js" } }, { "it.js": v9 });
    install("torn", esm, { "index.js": "export const create = ;" });
    for (const name of ["plain", "nothing-said", "text", "root", "@nested/it"]) {
      expect([name, await left(name, folder)]).toEqual([name, []]);
    }
    expect(await left("@ai-sdk/openai", folder)).toMatchObject([
      {
        problem: expect.stringMatching(
          /^package @ai-sdk\/openai implements v9 .* takes v3 and v4; npm install another/,
        ),
      },
    ]);
    expect(await left("torn", folder)).toMatchObject([
      { problem: expect.stringMatching(/^package torn cannot be loaded: /) },
    ]);
    rmSync(folder, { recursive: true });
  });

  test("require a restart when the configuration names a new one", () => {
    const { file } = configured("@ai-sdk/mistral");
    expect(() => openEngine(file)).toThrow(
      "provider far-0:\n  package @ai-sdk/mistral is loaded at the start: restart Sluice",
    );
  });

  test("must have valid npm names", () => {
    const parse = (settings: object) => testConfig({ providers: [{ id: "far", ...settings }], models: [] });
    expect(() => parse({ dialect: "ai-sdk:../../etc" })).toThrow("or ai-sdk:<package>");
    expect(() => parse({ dialect: "ai-sdk:" })).toThrow("or ai-sdk:<package>");
    expect(() => parse({ dialect: "smoke" })).toThrow("must be one of echo, chat");
  });
});
