/** A call to a provider over real sockets: the request, the faults for its failures, and how it is stopped. */
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import fc from "../../../support/properties.js";
import { findShortest, waitUntilStable } from "../../../support/clock.js";
import type { Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { exceptionFrame } from "../../../support/answers/event-stream.js";
import {
  type Chunk,
  type Reply,
  type Upstream,
  chatAnswer,
  chatChunk,
  chatStream,
  sse,
  startUpstream,
} from "../../../support/providers/upstream.js";
import * as converse from "../dialects/converse-translation.js";
import { cohereDelta, cohereEnd } from "../dialects/cohere-translation.js";
import * as gemini from "../dialects/gemini-translation.js";
import {
  type Engine,
  testRequest,
  testConfig,
  itemsOf,
  maskIds,
  newScope,
  openEngine,
  runTestTurn,
  openAnswer,
} from "../../asking.js";

let upstream: Upstream;
let engine: Engine;
afterEach(async () => {
  await engine?.upstreams.close();
  await upstream?.stop();
});

async function begin(replies: readonly Reply[], settings: Parameters<typeof testConfig>[0] = {}): Promise<void> {
  upstream = await startUpstream(replies);
  engine = openEngine(testConfig({ url: upstream.url, ...settings }));
}

/** The single call, without retries. */
const single =
  (attempt = { withinMs: Number.POSITIVE_INFINITY, last: false }): Turn =>
  (request, scope) =>
    engine.upstreams.turn({ provider: "acme", upstreamModel: "large-2", tier: "default" })(
      request,
      scope.with({ attempt }),
    );

const error = (
  status: number,
  body: unknown = { error: { message: "no", type: "x" } },
  headers: Record<string, string> = {},
): Reply => ({
  status,
  headers,
  chunks: [{ json: body }],
});

describe("a request to a provider", () => {
  test("is a post with the key, and without any data of the caller", async () => {
    await begin([chatStream("Hi")]);
    await runTestTurn(engine.turn, testRequest());
    const [request] = upstream.requests;
    expect([request?.method, request?.path]).toEqual(["POST", "/v1/chat/completions"]);
    expect(request?.headers).toMatchObject({
      authorization: "Bearer upstream-key",
      "content-type": "application/json",
      "user-agent": "sluice/0.0.0",
      accept: "text/event-stream",
    });
    expect(request?.json).toEqual({
      model: "large-2",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("uses several keys in rotation and pauses a refused key, and has no key header without a key", async () => {
    await begin([chatStream("Hi")], { provider: { api_keys: ["a", "b"] } });
    for (let count = 0; count < 3; count++) await runTestTurn(engine.turn, testRequest());
    upstream.script([error(401), chatStream("Hi")]);
    for (let count = 0; count < 3; count++) await runTestTurn(engine.turn, testRequest());
    // Key b is refused at its second request: the turn continues with key a, and b is left out from then on.
    expect(engine.errors).toEqual([{ provider: "acme", key: 1, status: 401, rests_ms: 60_000 }]);
    expect(upstream.requests.map((request) => request.headers.authorization)).toEqual(
      ["a", "b", "a", "b", "a", "a", "a"].map((key) => `Bearer ${key}`),
    );
    await engine.upstreams.close();
    engine = openEngine(testConfig({ url: upstream.url, provider: { api_keys: undefined } }));
    await runTestTurn(engine.turn, testRequest());
    expect(upstream.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  test.each([
    [400, { error: { message: "Unknown parameter: 'stream_options'.", param: "stream_options" } }],
    [422, { detail: [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }] }],
  ])(
    "is repeated without stream_options when the server answers %i for it, and the provider remembers it",
    async (status, body) => {
      await begin([error(status, body), chatStream("Hi")]);
      for (let count = 0; count < 2; count++) {
        const { events, fault } = await runTestTurn(engine.turn, testRequest());
        expect(fault).toBeUndefined();
        expect(itemsOf(events)).toHaveLength(1);
      }
      expect(upstream.requests.map(({ json }) => "stream_options" in (json as object))).toEqual([true, false, false]);
      // The log has a separate line for the failed attempt.
      expect(engine.warnings.filter((line) => !("err" in line))).toEqual([{ provider: "acme" }]);
    },
  );

  test("is not repeated for another field, nor twice for stream_options", async () => {
    await begin([error(400, { error: { message: "Unknown parameter: 'stream'." } })]);
    expect((await runTestTurn(engine.turn, testRequest())).fault?.attemptStatus).toBe(400);
    expect(upstream.requests).toHaveLength(1);
    upstream.script([error(400, { error: { message: "stream_options: Extra inputs are not permitted" } })]);
    expect((await runTestTurn(engine.turn, testRequest())).fault).toBeDefined();
    expect(upstream.requests).toHaveLength(3);
  });

  test("reuses connections", async () => {
    await begin([chatStream("Hi")]);
    for (let count = 0; count < 5; count++) await runTestTurn(engine.turn, testRequest());
    // Two sockets, because the last chunk of an answer may not have arrived when the next turn begins.
    expect(upstream.openSockets).toBeLessThanOrEqual(2);
  });

  test("is shown in the debug event, without key and without the bytes of an image", async () => {
    await begin([chatStream("Hi")]);
    const image = `data:image/png;base64,${"QUJD".repeat(100)}`;
    const input = [{ type: "message", role: "user", content: [{ type: "input_image", image_url: image }] }];
    const { events } = await runTestTurn(engine.turn, testRequest({ input, echoUpstreamBody: true }));
    expect(events.slice(0, 2).map((event) => event.type)).toEqual(["debug", "start"]);
    const body = events[0]?.type === "debug" ? events[0].bodyJson : "";
    expect(JSON.parse(body)).toMatchObject({
      model: "large-2",
      messages: [{ content: [{ image_url: { url: "data:image/png;base64,[redacted]" } }] }],
    });
    expect(body).not.toContain("upstream-key");
    expect(upstream.requests[0]?.body).toContain(image);
  });

  test("is shown in the debug event without credentials of tool servers and sealed data", async () => {
    await begin(
      [{ chunks: [{ sse: [{ type: "response.completed", response: { status: "completed", output: [] } }] }] }],
      {
        dialect: "responses",
      },
    );
    const json =
      '{ "type": "mcp", "server_label": "a", "server_url": "https://a.example", "authorization" : "secret \\"1\\"", "headers": {"x-key": "secret-2"} }';
    const tools = [{ type: "hosted" as const, kind: "mcp", spelling: "mcp", json }];
    const input = [{ type: "image_generation_call", id: "i", status: "completed", result: "QUJD".repeat(100) }];
    const { events } = await runTestTurn(engine.turn, testRequest({ input, tools, echoUpstreamBody: true }));
    const body = events[0]?.type === "debug" ? events[0].bodyJson : "";
    expect(JSON.parse(body)).toMatchObject({
      input: [{ type: "image_generation_call", result: "[redacted]" }],
      tools: [{ type: "mcp", server_label: "a", authorization: "[redacted]", headers: "[redacted]" }],
    });
    expect(upstream.requests[0]?.body).toContain("secret-2");
  });
});

describe("the form of a provider's answer", () => {
  const script = [
    ": comment\n\n",
    sse(
      chatChunk({ reasoning_content: "Überlegung 🤔" }),
      chatChunk({ content: "Grüße " }),
      chatChunk({ content: "aus 東京 😀" }),
    ),
    sse(chatChunk({ tool_calls: [{ index: 0, id: "call_a", function: { name: "f", arguments: '{"a":"' } }] })),
    sse(
      chatChunk({ tool_calls: [{ index: 0, function: { arguments: 'ü"}' } }] }),
      chatChunk({}, "tool_calls"),
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
      "[DONE]",
    ),
  ].join("");

  test("cut at random places gives the same events", async () => {
    await begin([{ chunks: [{ bytes: script }] }]);
    const expected = maskIds((await runTestTurn(engine.turn, testRequest())).events);
    const bytes = Buffer.from(script);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        upstream.script([
          {
            chunks: at
              .slice(1)
              .map((end, index) => ({ bytes: bytes.subarray(at[index], end), after: new Promise(setImmediate) })),
          },
        ]);
        const { events } = await runTestTurn(engine.turn, testRequest());
        itemsOf(events);
        expect(maskIds(events)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  test("makes one batch of one read", async () => {
    const words = Array.from({ length: 200 }, (_, index) => `word ${index} `);
    await begin([chatStream(...words)]);
    const { batches, events } = await runTestTurn(engine.turn, testRequest());
    expect(events.filter((event) => event.type === "text.delta")).toHaveLength(200);
    expect(batches).toBeLessThan(10);
  });

  test("may be whole for a streamed call", async () => {
    await begin([chatAnswer({ role: "assistant", content: "Titan." })]);
    const { events } = await runTestTurn(engine.turn, testRequest());
    expect(events.map((event) => event.type)).toEqual(["start", "item.start", "text.delta", "item.end", "end"]);
  });

  test("may be a stream that was not requested", async () => {
    await begin([chatStream("One, ", "two.")]);
    const { events, batches } = await runTestTurn(engine.turn, testRequest({ stream: false }));
    expect([events.map((event) => event.type), batches]).toEqual([["start", "item.end", "end"], 1]);
    expect(events[1]).toMatchObject({ item: { content: [{ text: "One, two." }] } });
  });

  test("delivers no output before the commit point", async () => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    await begin([
      {
        chunks: [
          { sse: [chatChunk({ role: "assistant", content: "" })] },
          { after: gate, sse: [chatChunk({ content: "Hi" }, "stop"), "[DONE]"] },
        ],
      },
    ]);
    const { scope, abort } = newScope();
    let settled = false;
    const answer = openAnswer(engine.turn(testRequest(), scope)).finally(() => {
      settled = true;
    });
    await upstream.nextRequest();
    await new Promise(setImmediate);
    expect(settled).toBe(false);
    release();
    await answer;
    abort.abort(new Error("left"));
  });

  test("without its connection after the finish loses only the usage", async () => {
    await begin([{ chunks: [{ sse: [chatChunk({ content: "Hi" }), chatChunk({}, "stop")] }], cut: true }]);
    const { events, fault } = await runTestTurn(engine.turn, testRequest());
    expect(fault).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed", usage: { estimated: true } } });
  });

  test("lacks usage after waiting for it no longer than the idle limit", async () => {
    await begin([{ chunks: [{ sse: [chatChunk({ content: "Hi" }), chatChunk({}, "stop")] }], hang: true }], {
      provider: { timeouts: { idle_ms: 500 } },
    });
    expect((await runTestTurn(engine.turn, testRequest())).events.at(-1)?.type).toBe("end");
  });

  test("ends at its first end", async () => {
    await begin([
      {
        chunks: [
          { bytes: sse(chatChunk({ content: "Hi" }, "stop"), "[DONE]", "[DONE]", chatChunk({ content: "more" })) },
        ],
      },
    ]);
    const { events } = await runTestTurn(engine.turn, testRequest());
    expect(events.filter((event) => event.type === "end")).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain("more");
  });
});

describe("failures of a provider before any output", () => {
  const overflow = {
    error: { message: "This model's maximum context length is 8 tokens.", code: "context_length_exceeded" },
  };
  test.each<[string, Reply, FaultReason, number]>([
    ["400", error(400), FaultReason.INVALID_REQUEST, 400],
    ["400 with a context overflow", error(400, overflow), FaultReason.CONTEXT_LENGTH_EXCEEDED, 400],
    [
      "400 of the content policy",
      error(400, { error: { code: "content_policy_violation", message: "no" } }),
      FaultReason.CONTENT_POLICY,
      400,
    ],
    ["401", error(401), FaultReason.PROVIDER_FAILED, 502],
    ["402", error(402), FaultReason.PROVIDER_FAILED, 502],
    ["403", error(403), FaultReason.PROVIDER_FAILED, 502],
    ["404", error(404), FaultReason.NO_ENDPOINTS, 404],
    ["408", error(408), FaultReason.PROVIDER_TIMEOUT, 524],
    ["409", error(409), FaultReason.PROVIDER_FAILED, 502],
    ["413", error(413), FaultReason.PAYLOAD_TOO_LARGE, 413],
    ["418", error(418), FaultReason.INVALID_REQUEST, 400],
    ["422", error(422), FaultReason.UNPROCESSABLE, 422],
    ["425", error(425), FaultReason.PROVIDER_FAILED, 502],
    ["429", error(429), FaultReason.RATE_LIMITED, 429],
    [
      "429 because the installation's quota is spent",
      error(429, { error: { code: "insufficient_quota", message: "x" } }),
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    ["500", error(500), FaultReason.PROVIDER_FAILED, 502],
    ["502", error(502), FaultReason.PROVIDER_FAILED, 502],
    ["503", error(503), FaultReason.PROVIDER_FAILED, 502],
    [
      "503 that says overloaded",
      error(503, { error: { message: "Overloaded", type: "overloaded_error" } }),
      FaultReason.PROVIDER_OVERLOADED,
      529,
    ],
    ["504", error(504), FaultReason.PROVIDER_TIMEOUT, 524],
    ["529", error(529), FaultReason.PROVIDER_OVERLOADED, 529],
    [
      "error without JSON",
      { status: 500, headers: { "content-type": "text/html" }, chunks: [{ bytes: "<html>" }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    [
      "endless error page",
      { status: 400, chunks: [{ bytes: "x".repeat(65_537) }], hang: true },
      FaultReason.INVALID_REQUEST,
      400,
    ],
    ["redirect", { status: 302, headers: { location: "http://127.0.0.1:1/" } }, FaultReason.PROVIDER_FAILED, 502],
    [
      "web page in a 200",
      { headers: { "content-type": "text/html" }, chunks: [{ bytes: "<html>" }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    [
      "compressed",
      { headers: { "content-encoding": "br" }, chunks: [{ bytes: "x" }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    ["nothing in a 200", { headers: { "content-type": "application/json" } }, FaultReason.PROVIDER_FAILED, 502],
    [
      "half a JSON",
      { headers: { "content-type": "application/json" }, chunks: [{ bytes: '{"choices":[' }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    [
      "invalid UTF-8",
      { chunks: [{ bytes: Buffer.concat([Buffer.from('data: {"a":"'), Buffer.of(0xff), Buffer.from('"}\n\n')]) }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    [
      "error object in a 200",
      { chunks: [{ json: { error: { code: 429, message: "x" } } }] },
      FaultReason.RATE_LIMITED,
      429,
    ],
    [
      "error event in a 200",
      { chunks: [{ sse: [{ error: { message: "Overloaded", type: "overloaded_error" } }] }] },
      FaultReason.PROVIDER_OVERLOADED,
      529,
    ],
    [
      "role, then an error",
      { chunks: [{ sse: [chatChunk({ role: "assistant" })] }, { sse: [{ error: { message: "x" } }] }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
    ["an empty stream", { chunks: [] }, FaultReason.PROVIDER_FAILED, 502],
    ["only [DONE]", { chunks: [{ sse: ["[DONE]"] }] }, FaultReason.PROVIDER_FAILED, 502],
    ["closed at once", { cut: true }, FaultReason.PROVIDER_FAILED, 502],
    [
      "headers above the limit",
      { headers: { "x-long": "x".repeat(70_000) }, chunks: [{ bytes: "" }] },
      FaultReason.PROVIDER_FAILED,
      502,
    ],
  ])("become a fault: %s", async (_, reply, reason, status) => {
    await begin([reply]);
    for (const stream of [true, false]) {
      const ending = await runTestTurn(engine.turn, testRequest({ stream }));
      expect([ending.rejected, ending.fault?.reason, ending.fault?.status, ending.fault?.origin]).toEqual([
        true,
        reason,
        status,
        FaultOrigin.UPSTREAM,
      ]);
      expect(ending.fault?.metadata).toMatchObject({ error_type: ending.fault?.errorType });
    }
  });

  test("hide the first text when an error is in the same read", async () => {
    await begin([{ chunks: [{ bytes: sse(chatChunk({ content: "Hi" }), { error: { message: "x" } }) }] }]);
    expect(await runTestTurn(engine.turn, testRequest())).toMatchObject({ rejected: true, events: [] });
  });

  test("include half an answer without a stream", async () => {
    await begin([{ chunks: [{ sse: [chatChunk({ content: "Hi" })] }], cut: true }]);
    expect(await runTestTurn(engine.turn, testRequest({ stream: false }))).toMatchObject({
      rejected: true,
      events: [],
    });
    // The single call fails here, before the layer that collects a whole answer.
    expect(await runTestTurn(single(), testRequest({ stream: false }))).toMatchObject({ rejected: true, events: [] });
    expect(await runTestTurn(single(), testRequest())).toMatchObject({ rejected: false });
  });

  test.each([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["milliseconds win", { "retry-after": "7", "retry-after-ms": "1500.2" }, 1_501],
    ["nonsense", { "retry-after": "soon" }, 0],
    ["negative", { "retry-after": "-3" }, 0],
    ["for ever", { "retry-after": "1e99" }, 86_400_000],
    [
      "a limit that is full again",
      { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m12.5s" },
      72_500,
    ],
    [
      "the slower of two limits",
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "250ms",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6s",
      },
      6_000,
    ],
    ["seconds until a reset", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" }, 9_000],
    ["a limit with something left", { "x-ratelimit-remaining": "5", "x-ratelimit-reset": "9" }, 0],
    ["a reset in words", { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon" }, 0],
    [
      "its own header before a limit's",
      { "retry-after": "2", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" },
      2_000,
    ],
  ])("pass on the Retry-After of %s", async (_, headers, retryAfterMs) => {
    await begin([error(429, {}, headers)]);
    expect((await runTestTurn(single(), testRequest())).fault?.retryAfterMs).toBe(retryAfterMs);
  });

  test.each([400, 401, 500])("pass on no reset time of a limit with the status %d", async (status) => {
    await begin([error(status, {}, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "9" })]);
    expect((await runTestTurn(single(), testRequest())).fault?.retryAfterMs).toBe(0);
  });

  test.each([
    ["a Retry-After with a date", (at: Date) => ["retry-after", at.toUTCString(), "x-other", "0"]],
    [
      "a reset of Anthropic with a date",
      (at: Date) => [
        "anthropic-ratelimit-input-tokens-reset",
        at.toISOString(),
        "anthropic-ratelimit-input-tokens-remaining",
        "0",
      ],
    ],
    [
      "a reset of OpenRouter in milliseconds since 1970",
      (at: Date) => ["x-ratelimit-reset", String(at.getTime()), "x-ratelimit-remaining", "0"],
    ],
  ])("pass on %s", async (_, headersAt) => {
    const [name = "", value = "", remaining = "", left = ""] = headersAt(new Date(Date.now() + 60_000));
    await begin([error(429, {}, { [name]: value, [remaining]: left })]);
    const hintMs = (await runTestTurn(single(), testRequest())).fault?.retryAfterMs ?? 0;
    expect(hintMs).toBeGreaterThan(50_000);
    expect(hintMs).toBeLessThanOrEqual(60_000);
  });

  test("show the provider's message, cleaned, for an error of the request", async () => {
    const message = `tools.0: unknown\nfield "x" (see https://internal.example/docs?key=1, http://10.0.0.7:8000/v1), key sk-abcdef123456, host vllm-0.ml.svc.cluster.local:8000, ${"y".repeat(600)}`;
    await begin([error(400, { error: { message } })]);
    const shown = (await runTestTurn(engine.turn, testRequest())).fault?.message ?? "";
    expect(shown).toMatch(/^tools\.0: unknown field "x" \(see \[link\]/);
    expect(shown).toHaveLength(500);
    for (const secret of ["internal.example", "10.0.0.7", "sk-abcdef", "cluster.local", "\n"])
      expect(shown).not.toContain(secret);
  });

  test.each([401, 429, 500])("do not show the provider's message for %i", async (status) => {
    await begin([error(status, { error: { message: "secret words", code: "some_code" } })]);
    const { fault } = await runTestTurn(engine.turn, testRequest());
    expect(fault?.message).not.toContain("secret");
    expect(fault?.metadata).toMatchObject({ provider_code: "some_code" });
  });
});

describe("failures of a provider after output", () => {
  const cases: [string, Reply, FaultReason, string][] = [
    ["the connection breaks", { cut: true }, FaultReason.PROVIDER_FAILED, "Provider connection lost"],
    ["the stream ends without a finish", {}, FaultReason.PROVIDER_FAILED, "Provider connection lost"],
    [
      "an error event",
      { chunks: [{ sse: [{ error: { message: "x", code: "rate_limit_exceeded" } }] }] },
      FaultReason.RATE_LIMITED,
      "Rate limit exceeded",
    ],
    ["nonsense", { chunks: [{ sse: ["{nonsense"] }] }, FaultReason.PROVIDER_FAILED, "Provider returned error"],
    [
      "half a line",
      { chunks: [{ bytes: 'data: {"choices":[{"delta":{"content":"half' }] },
      FaultReason.PROVIDER_FAILED,
      "Provider connection lost",
    ],
    [
      "silence",
      { hang: true },
      FaultReason.PROVIDER_TIMEOUT,
      "Request timed out at the edge: the provider did not answer in time",
    ],
  ];
  test.each(cases)("fail the turn when %s", async (_, reply, reason, message) => {
    let release = () => {};
    const taken = new Promise<void>((resolve) => {
      release = resolve;
    });
    const chunks = [
      { sse: [chatChunk({ content: "Hi" })] },
      ...(reply.chunks ?? []).map((chunk) => ({ ...chunk, after: taken })),
      { after: taken, bytes: "" },
    ];
    await begin([{ ...reply, chunks }], reply.hang === true ? { provider: { timeouts: { idle_ms: 500 } } } : {});
    const { scope, abort } = newScope();
    const batches = engine.turn(testRequest(), scope)[Symbol.asyncIterator]();
    const first = await batches.next();
    expect(first.value).toMatchObject([{ type: "start" }, { type: "item.start" }, { type: "text.delta", delta: "Hi" }]);
    release();
    const fault = await batches.next().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(fault).toBeInstanceOf(Fault);
    expect([(fault as Fault).reason, (fault as Fault).message]).toEqual([reason, message]);
    abort.abort(new Error("left"));
  });
});

describe("a context window filled during the answer ends it, like a token limit", () => {
  const frames = (...bytes: readonly Buffer[]): Chunk => ({ bytes: Buffer.concat(bytes) });
  const message = "Your input and the answer exceed the context window";
  const spoken = "response.output_text.delta";

  test.each<[dialect: string, begun: Chunk, full: Chunk, type?: string]>([
    [
      "chat",
      { sse: [chatChunk({ content: "Hi" })] },
      { sse: [{ error: { code: "context_length_exceeded", message } }] },
    ],
    [
      "chat",
      { sse: [chatChunk({ content: "Hi" })] },
      { sse: [{ error: { code: 500, message: "Context size has been exceeded.", type: "server_error" } }] },
    ],
    [
      "responses",
      { sse: [{ type: spoken, output_index: 0, item_id: "msg_1", content_index: 0, delta: "Hi" }] },
      { sse: [{ type: "response.failed", response: { error: { code: "context_length_exceeded", message } } }] },
    ],
    [
      "responses",
      { sse: [{ type: spoken, output_index: 0, item_id: "msg_1", content_index: 0, delta: "Hi" }] },
      { sse: [{ type: "error", code: "context_length_exceeded", message }] },
    ],
    [
      "messages",
      {
        sse: [
          { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
          { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
        ],
      },
      { sse: [{ type: "error", error: { type: "invalid_request_error", message } }] },
    ],
    [
      "gemini",
      { sse: [gemini.geminiStreamChunk([gemini.geminiTextPart("Hi")])] },
      { sse: [{ error: { code: 400, status: "INVALID_ARGUMENT", message } }] },
    ],
    ["cohere", { sse: [cohereDelta(0, { text: "Hi" })] }, { sse: [cohereEnd("ERROR", { error: message })] }],
    [
      "converse",
      frames(converse.converseStart(), converse.converseDelta(0, { text: "Hi" })),
      frames(exceptionFrame("validationException", message)),
      "application/vnd.amazon.eventstream",
    ],
  ])("for %s: %j, then %j", async (dialect, begun, full, type = "text/event-stream") => {
    let release = () => {};
    const taken = new Promise<void>((resolve) => {
      release = resolve;
    });
    const headers = { "content-type": type };
    await begin([{ headers, chunks: [begun, { ...full, after: taken }] }], { dialect });
    const { scope, abort } = newScope();
    const events: TurnEvent[] = [];
    for await (const batch of engine.turn(testRequest(), scope)) {
      events.push(...batch);
      release();
    }
    const said = { type: "message", status: "incomplete", content: [{ type: "output_text", text: "Hi" }] };
    expect(itemsOf(events)).toMatchObject([said]);
    expect(events.at(-1)).toMatchObject({
      type: "end",
      outcome: { status: "incomplete", reason: "max_output_tokens" },
    });
    abort.abort(new Error("left"));
  });

  test("before the answer it is a failure, since the input does not fit", async () => {
    await begin([{ chunks: [{ sse: [{ error: { code: "context_length_exceeded", message } }] }] }]);
    expect((await runTestTurn(engine.turn, testRequest())).fault?.reason).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
  });
});

describe("the time limit of a provider call", () => {
  test.each([
    ["headers", { headers_ms: 50 }, { hang: true }],
    ["first event", { first_event_ms: 50 }, { chunks: [{ bytes: ": waiting\n\n" }], hang: true }],
    ["first output", { first_event_ms: 50 }, { chunks: [{ sse: [chatChunk({ role: "assistant" })] }], hang: true }],
  ])("runs out at the limit of the %s", async (_, timeouts, reply) => {
    await begin([reply], { provider: { timeouts } });
    const closed = upstream.nextClose();
    const { fault, rejected } = await runTestTurn(single(), testRequest());
    expect([fault?.reason, rejected]).toEqual([FaultReason.PROVIDER_TIMEOUT, true]);
    await closed;
  });

  test.each<[string, Reply]>([
    ["headers", { hang: true }],
    ["a first event", { chunks: [{ bytes: ": waiting\n\n" }], hang: true }],
  ])("is no longer than the time left for other endpoints: %s", async (_, reply) => {
    await begin([reply]);
    const closed = upstream.nextClose();
    const { fault } = await runTestTurn(single({ withinMs: 100, last: false }), testRequest());
    expect(fault?.reason).toBe(FaultReason.PROVIDER_TIMEOUT);
    await closed;
  });

  test("does not cut the last endpoint for a late first event", async () => {
    let release = () => {};
    const late = new Promise<void>((resolve) => {
      release = resolve;
    });
    await begin(
      [{ chunks: [{ bytes: ": waiting\n\n" }, { after: late, sse: [chatChunk({ content: "Hi" }, "stop")] }] }],
      {
        provider: { timeouts: { first_event_ms: 10, idle_ms: 10_000 } },
      },
    );
    const asked = upstream.nextRequest();
    const ending = runTestTurn(engine.turn, testRequest());
    await asked;
    await new Promise((resolve) => setTimeout(resolve, 100));
    release();
    expect((await ending).fault).toBeUndefined();
  });

  test("ends a pause of the body without a stream, too", async () => {
    await begin([{ chunks: [{ json: {} }], hang: true }], { provider: { timeouts: { idle_ms: 50 } } });
    expect((await runTestTurn(engine.turn, testRequest({ stream: false }))).fault?.reason).toBe(
      FaultReason.PROVIDER_TIMEOUT,
    );
  });
});

describe("stopping a provider call", () => {
  test.each<[string, Reply]>([
    ["before headers", { hang: true }],
    ["before output", { chunks: [{ bytes: ": waiting\n\n" }], hang: true }],
  ])("closes the socket at once for an abort %s", async (_, reply) => {
    await begin([reply]);
    const stopOnce = async (stream: boolean) => {
      const testScope = newScope();
      const ending = runTestTurn(engine.turn, testRequest({ stream }), testScope);
      await upstream.nextRequest();
      const closed = upstream.nextClose();
      const at = performance.now();
      testScope.abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED));
      const tookMs = (await closed) - at;
      expect((await ending).fault?.reason).toBe(FaultReason.DEADLINE_EXCEEDED);
      return tookMs;
    };
    for (const stream of [true, false]) expect(await findShortest(100, () => stopOnce(stream))).toBeLessThan(100);
  });

  test("closes the socket for an abort in the middle of a stream, and for a reader that leaves", async () => {
    await begin([{ chunks: [{ sse: [chatChunk({ content: "Hi" })] }], hang: true }]);
    const stopOnce = async (how: string) => {
      const { scope, abort } = newScope();
      const batches = engine.turn(testRequest(), scope)[Symbol.asyncIterator]();
      await batches.next();
      const closed = upstream.nextClose();
      const at = performance.now();
      if (how === "abort") abort.abort(new Error("gone"));
      else await batches.return?.();
      return (await closed) - at;
    };
    for (const how of ["abort", "leave"]) expect(await findShortest(100, () => stopOnce(how))).toBeLessThan(100);
    expect(upstream.openSockets).toBe(0);
  });

  test("makes no call for a turn that is over before its beginning", async () => {
    await begin([chatStream("Hi")]);
    const testScope = newScope();
    testScope.abort.abort(new Error("gone"));
    expect((await runTestTurn(engine.turn, testRequest(), testScope)).rejected).toBe(true);
    expect(upstream.requests).toHaveLength(0);
  });
});

describe("bounds of a provider call", () => {
  const kilobyte = sse(chatChunk({ content: "x".repeat(900) }));
  const many = Math.floor((60 * 1024 * 1024) / kilobyte.length);

  test("pause the provider for a slow reader, who gets the whole answer", async () => {
    await begin([{ chunks: [{ bytes: kilobyte, repeat: many }, { sse: [chatChunk({}, "stop"), "[DONE]"] }] }]);
    const { scope, abort } = newScope();
    const answer = engine.turn(testRequest(), scope);
    const batches = answer[Symbol.asyncIterator]();
    await batches.next();
    const settled = await waitUntilStable(() => upstream.bytesWritten);
    // Of 60 MiB, only two socket buffers of the kernel and 256 KiB of Sluice's own are written.
    expect(settled).toBeLessThan(24 * 1024 * 1024);
    let characters = 0;
    for (let next = await batches.next(); next.done !== true; next = await batches.next()) {
      for (const event of next.value) if (event.type === "text.delta") characters += event.delta.length;
    }
    expect(characters).toBeGreaterThan((many - 300) * 900);
    abort.abort(new Error("left"));
  });

  test("let an event larger than the whole buffer arrive", async () => {
    const large = "x".repeat(5 * 1024 * 1024);
    const opened = new AbortController();
    await begin([
      {
        chunks: [
          { sse: [chatChunk({ content: "Hi" })] },
          {
            after: once(opened.signal, "abort"),
            sse: [chatChunk({ content: large }), chatChunk({}, "stop"), "[DONE]"],
          },
        ],
      },
    ]);
    const answer = await openAnswer(engine.turn(testRequest(), newScope().scope));
    opened.abort();
    let said = "";
    for await (const batch of answer) {
      for (const event of batch) if (event.type === "text.delta") said += event.delta;
    }
    expect(said === `Hi${large}`).toBe(true);
  });

  test("fail an answer above 64 MiB", async () => {
    const megabyte = `{"a":"${"x".repeat(1024 * 1024)}`;
    await begin([
      { headers: { "content-type": "application/json" }, chunks: [{ bytes: megabyte, repeat: 65 }], hang: true },
    ]);
    expect((await runTestTurn(engine.turn, testRequest({ stream: false }))).fault?.reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
  });
});

test("a connection to a provider broken before it carried a byte is tried once more", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.once("data", () => socket.resetAndDestroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  upstream = await startUpstream();
  // The handshake of TLS fails, so no request was sent.
  engine = openEngine(testConfig({ url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }));
  const { fault } = await runTestTurn(engine.turn, testRequest());
  expect([connections, fault?.reason]).toEqual([2, FaultReason.PROVIDER_FAILED]);
  server.close();
});

test("a provider that cannot be connected is a failure", async () => {
  upstream = await startUpstream();
  await upstream.stop();
  engine = openEngine(testConfig({ url: upstream.url }));
  expect(await runTestTurn(engine.turn, testRequest())).toMatchObject({
    rejected: true,
    fault: { reason: FaultReason.PROVIDER_FAILED, message: "Provider returned error" },
  });
});
