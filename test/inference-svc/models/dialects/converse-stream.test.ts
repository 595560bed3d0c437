/**
 * Answers of Amazon Bedrock as output items. The fixtures are made by hand from
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and the pages of its types.
 */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Turn } from "@sluice/inference-svc/turn/turn.js";
import { converseError } from "@sluice/inference-svc/models/upstream/converse/error.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { errorFrame, eventFrame, exceptionFrame, frame } from "../../../support/answers/event-stream.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import {
  testRequest,
  functionTool,
  testConfig,
  maskIds,
  newScope,
  openEngine,
  runTestTurn,
  openAnswer,
} from "../../asking.js";
import {
  converseAnswer,
  converseStart,
  converseBlockStart,
  callBlock,
  converseDelta,
  endEvents,
  gptOss,
  metadata,
  readConverse,
  readConverseBytes,
  readWholeConverse,
  converseStop,
  converseTextBlock,
  thoughtBlock,
} from "./converse-translation.js";

const faultOf = (act: () => unknown): Fault => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

const said = (text: string, status = "completed") => ({
  type: "message",
  id: "masked",
  role: "assistant",
  status,
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
});
const thought = (text: string | undefined, more: object = {}) => ({
  type: "reasoning",
  id: "masked",
  status: "completed",
  summary: [],
  content: text === undefined ? [] : [{ type: "reasoning_text", text }],
  format: "anthropic-claude-v1",
  signature: null,
  ...more,
});
const call = (name: string, json: string, more: object = {}) => ({
  type: "function_call",
  id: "masked",
  call_id: "masked",
  name,
  arguments: json,
  status: "completed",
  ...more,
});

const everything = [
  converseStart(),
  ...thoughtBlock(0, { text: "Let me " }, { text: "think. ☕" }, { signature: "EqQBCgIY" }),
  ...converseTextBlock(1, "Okay, ", "checking the “weather” …"),
  ...callBlock(2, "get_weather", "", '{"town":', ' "Zürich"}'),
  ...callBlock(3, "now"),
  ...endEvents("tool_use"),
];

const wholeThing = converseAnswer(
  [
    { reasoningContent: { reasoningText: { text: "Let me think. ☕", signature: "EqQBCgIY" } } },
    { text: "Okay, checking the “weather” …" },
    { toolUse: { toolUseId: "tooluse_get_weather", name: "get_weather", input: { town: "Zürich" } } },
    { toolUse: { toolUseId: "tooluse_now", name: "now", input: {} } },
  ],
  { stopReason: "tool_use" },
);

describe("text", () => {
  test("a stream and the whole answer give the same items", () => {
    const streamed = readConverse([
      converseStart(),
      ...converseTextBlock(0, "One, ", "two."),
      ...endEvents("end_turn"),
    ]);
    const whole = readWholeConverse(converseAnswer([{ text: "One, two." }]));
    expect(maskIds(streamed.items)).toEqual([said("One, two.")]);
    expect([maskIds(whole.items), whole.outcome]).toEqual([maskIds(streamed.items), streamed.outcome]);
    expect(streamed.events.map(({ type }) => type)).toEqual([
      "item.start",
      "text.delta",
      "text.delta",
      "item.end",
      "end",
    ]);
  });

  test("consecutive texts are one message, as with citations", () => {
    const cited = { citation: { title: "d", location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } } };
    const blocks = [
      ...converseTextBlock(0, "a"),
      converseDelta(1, cited),
      ...converseTextBlock(1, "b"),
      ...converseTextBlock(2, "c"),
    ];
    expect(maskIds(readConverse([converseStart(), ...blocks, ...endEvents("end_turn")]).items)).toEqual([said("abc")]);
    const whole = converseAnswer([{ text: "a" }, { citationsContent: { content: [{ text: "b" }], citations: [] } }]);
    expect(maskIds(readWholeConverse(whole).items)).toEqual([said("ab")]);
  });

  test("an answer without content, and blocks without text, are no items", () => {
    expect(readConverse([converseStart(), ...endEvents("end_turn")]).items).toEqual([]);
    expect(readConverse([converseStart(), ...converseTextBlock(0, ""), ...endEvents("end_turn")]).items).toEqual([]);
    expect(readWholeConverse(converseAnswer([])).items).toEqual([]);
  });

  test("an empty block ends nothing: the reasoning before it was cut off", () => {
    const stopReason = "max_tokens";
    const cut = maskIds([thought("Hm", { status: "incomplete" })]);
    const blocks = [...thoughtBlock(0, { text: "Hm" }), ...converseTextBlock(1, ""), ...thoughtBlock(2, { text: "" })];
    expect(maskIds(readConverse([converseStart(), ...blocks, ...endEvents(stopReason)]).items)).toEqual(cut);
    const content = [{ reasoningContent: { reasoningText: { text: "Hm" } } }, { text: "" }];
    expect(maskIds(readWholeConverse(converseAnswer(content, { stopReason })).items)).toEqual(cut);
  });

  test("an empty beginning and unknown events are skipped", () => {
    const odd = [
      converseBlockStart(0, {}),
      converseBlockStart(1, { image: { format: "png" } }),
      converseDelta(1, { image: { source: { bytes: "AA" } } }),
      converseDelta(2, { toolUse: { input: "{}" } }),
      eventFrame("later", { x: 1 }),
    ];
    expect(
      maskIds(readConverse([converseStart(), ...odd, ...converseTextBlock(0, "a"), ...endEvents("end_turn")]).items),
    ).toEqual([said("a")]);
  });
});

describe("calls, thoughts and their order", () => {
  test("thinking, text and two calls, in a stream and whole", () => {
    const { items, outcome } = readConverse(everything);
    expect(maskIds(items)).toEqual([
      thought("Let me think. ☕", { signature: "EqQBCgIY" }),
      said("Okay, checking the “weather” …"),
      call("get_weather", '{"town": "Zürich"}'),
      call("now", "{}"),
    ]);
    expect(items.slice(2).map((item) => item.call_id)).toEqual(["tooluse_get_weather", "tooluse_now"]);
    expect(outcome.status).toBe("completed");
    const whole = readWholeConverse(JSON.stringify(wholeThing).replace('{"town":"Z', '{"town": "Z'));
    expect([maskIds(whole.items), whole.outcome]).toEqual([maskIds(items), outcome]);
  });

  test("more of a call followed by another fails the answer", () => {
    const [one, other] = [callBlock(0, "get_weather", '{"town":'), callBlock(1, "now")];
    const beside = [...one.slice(0, -1), ...other, converseDelta(0, { toolUse: { input: '"Bern"}' } })];
    expect(() => readConverse([converseStart(), ...beside, ...endEvents("tool_use")])).toThrow(
      "Provider returned error",
    );
  });

  test("the bytes may be cut anywhere", () => {
    const bytes = Buffer.concat(everything);
    const whole = maskIds(readConverseBytes([bytes]).events);
    for (let at = 1; at < bytes.length; at++) {
      expect(maskIds(readConverseBytes([bytes.subarray(0, at), bytes.subarray(at)]).events)).toEqual(whole);
    }
    expect(maskIds(readConverseBytes([...bytes].map((byte) => Uint8Array.of(byte))).events)).toEqual(whole);
  });

  test("numbers in the input of a whole call are not rounded", () => {
    const use = (name: string, input: object) => ({ toolUse: { toolUseId: name, name, input } });
    const whole = JSON.stringify(converseAnswer([{ text: "x" }, use("f", { n: "N" }), use("g", {})]));
    const { items } = readWholeConverse(whole.replace('"N"', "12345678901234567890"));
    expect(maskIds(items)).toEqual([said("x"), call("f", '{"n":12345678901234567890}'), call("g", "{}")]);
  });

  test("calls come back under the names and in the form of the tools", () => {
    const tools = [
      { type: "custom" as const, name: "patch", json: '{"type":"custom","name":"patch"}' },
      {
        type: "namespace" as const,
        name: "crm",
        description: "Customers",
        tools: [functionTool({ name: "find" })],
        json: "{}",
      },
    ];
    const blocks = [...callBlock(0, "patch", '{"inp', 'ut":"a\\u00', 'e9\\n"}'), ...callBlock(1, "crm__find", "{}")];
    const custom = {
      type: "custom_tool_call",
      id: "masked",
      call_id: "masked",
      name: "patch",
      input: "aé\n",
      status: "completed",
    };
    const { items } = readConverse([converseStart(), ...blocks, ...endEvents("tool_use")], { tools });
    expect(maskIds(items)).toEqual([custom, call("find", "{}", { namespace: "crm" })]);
    const use = { toolUse: { toolUseId: "t", name: "patch", input: { input: "aé\n" } } };
    expect(maskIds(readWholeConverse(converseAnswer([use]), { tools }).items)).toEqual([custom]);
    const silent = readConverse([converseStart(), ...callBlock(0, "patch"), ...endEvents("tool_use")], { tools });
    expect(silent.items[0]?.input).toBe("");
  });

  test("hidden reasoning is signed all the same; sealed reasoning comes only on request", () => {
    const frames = [
      converseStart(),
      ...thoughtBlock(0, { signature: "sig" }),
      ...thoughtBlock(1, { redactedContent: "c2VhbGVk" }),
      ...converseTextBlock(2, "Hi"),
      ...endEvents("end_turn"),
    ];
    expect(maskIds(readConverse(frames).items)).toEqual([thought(undefined, { signature: "sig" }), said("Hi")]);
    const include = ["reasoning.encrypted_content"];
    const { items } = readConverse(frames, { include });
    const sealed = thought(undefined, { encrypted_content: "sluice:anthropic-claude-v1:data:c2VhbGVk" });
    const signed = { signature: "sig", encrypted_content: "sluice:anthropic-claude-v1:signature:sig" };
    expect(maskIds(items)).toEqual([thought(undefined, signed), sealed, said("Hi")]);
    const whole = converseAnswer([{ reasoningContent: { redactedContent: "c2VhbGVk" } }]);
    expect([maskIds(readWholeConverse(whole).items), maskIds(readWholeConverse(whole, { include }).items)]).toEqual([
      [],
      [sealed],
    ]);
  });

  test("reasoning of other families has no returnable format", () => {
    const frames = [
      converseStart(),
      ...thoughtBlock(0, { text: "Hm" }),
      ...converseTextBlock(1, "Hi"),
      ...endEvents("end_turn"),
    ];
    expect(readConverse(frames, {}, gptOss).items[0]?.format).toBe("unknown");
  });
});

describe("the end", () => {
  test.each([
    ["end_turn", "completed", undefined],
    ["tool_use", "completed", undefined],
    ["stop_sequence", "completed", undefined],
    ["later", "completed", undefined],
    ["max_tokens", "incomplete", "max_output_tokens"],
    ["model_context_window_exceeded", "incomplete", "max_output_tokens"],
    ["guardrail_intervened", "incomplete", "content_filter"],
    ["content_filtered", "incomplete", "content_filter"],
  ])("%s is %s", (stopReason, status, reason) => {
    for (const { items, outcome } of [
      readConverse([converseStart(), ...converseTextBlock(0, "Hi"), ...endEvents(stopReason)]),
      readWholeConverse(converseAnswer([{ text: "Hi" }], { stopReason })),
    ]) {
      expect(outcome).toMatchObject({ status, ...(reason && { reason }) });
      expect(items[0]?.status).toBe(status);
    }
  });

  test.each(["malformed_tool_use", "malformed_model_output"])("%s is no answer", (stopReason) => {
    const frames = [converseStart(), ...converseTextBlock(0, "Hi"), ...endEvents(stopReason)];
    expect(faultOf(() => readConverse(frames)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("usage: cached tokens are part of the input; the tier is the serving tier", () => {
    const usage = {
      inputTokens: 5,
      outputTokens: 40,
      totalTokens: 1_245,
      cacheReadInputTokens: 1_000,
      cacheWriteInputTokens: 200,
      cacheDetails: [
        { ttl: "1h", inputTokens: 150 },
        { ttl: "5m", inputTokens: 50 },
      ],
    };
    const expected = {
      status: "completed",
      usage: {
        inputTokens: 1_205,
        cachedTokens: 1_000,
        cacheWriteTokens: 200,
        cacheWriteHourTokens: 150,
        outputTokens: 40,
        reasoningTokens: 0,
      },
      serviceTier: "priority",
    };
    const tier = { serviceTier: { type: "priority" } };
    expect(readConverse([converseStart(), converseStop("end_turn"), metadata(usage, tier)]).outcome).toEqual(expected);
    expect(readWholeConverse(converseAnswer([], { usage, ...tier })).outcome).toEqual(expected);
  });

  test("an answer is whole without its usage, even if the usage breaks off", () => {
    const frames = [converseStart(), ...converseTextBlock(0, "Hi"), converseStop("end_turn")];
    const expected = { status: "completed", serviceTier: "default" };
    expect(readConverse(frames).outcome).toEqual(expected);
    expect(readConverse([...frames, metadata().subarray(0, 40)]).outcome).toEqual(expected);
  });

  test("data after the end is not read", () => {
    const frames = [
      converseStart(),
      ...converseTextBlock(0, "Hi"),
      ...endEvents("end_turn"),
      exceptionFrame("throttlingException", "x"),
    ];
    expect(maskIds(readConverse(frames).items)).toEqual([said("Hi")]);
  });

  test("a stream stopping without its reason, or inside a frame, is no answer", () => {
    const frames = [converseStart(), ...converseTextBlock(0, "Hi")];
    expect(faultOf(() => readConverse(frames)).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(faultOf(() => readConverse([...frames, converseStop("end_turn").subarray(0, -1)])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    expect(faultOf(() => readConverse([...frames, metadata()])).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(faultOf(() => readWholeConverse({ message: "x" })).reason).toBe(FaultReason.PROVIDER_FAILED);
  });

  test.each([
    ["not JSON", frame({ ":message-type": "event", ":event-type": "messageStop" }, "{")],
    ["invalid UTF-8", frame({ ":message-type": "event", ":event-type": "x" }, Uint8Array.of(0x22, 0xff, 0x22))],
    ["of no type", frame({}, "{}")],
  ])("a frame with %s is a failure", (_, bad) => {
    expect(faultOf(() => readConverse([converseStart(), bad])).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors
describe("errors", () => {
  test.each([
    ["AccessDeniedException", 403, FaultReason.PROVIDER_FAILED],
    ["InternalServerException", 500, FaultReason.PROVIDER_FAILED],
    ["ModelErrorException", 424, FaultReason.PROVIDER_FAILED],
    ["ModelNotReadyException", 429, FaultReason.PROVIDER_FAILED],
    ["ModelTimeoutException", 408, FaultReason.PROVIDER_TIMEOUT],
    ["ResourceNotFoundException", 404, FaultReason.NO_ENDPOINTS],
    ["ServiceQuotaExceededException", 400, FaultReason.PROVIDER_FAILED],
    ["ServiceUnavailableException", 503, FaultReason.PROVIDER_FAILED],
    ["ThrottlingException", 429, FaultReason.RATE_LIMITED],
    ["ValidationException", 400, FaultReason.INVALID_REQUEST],
  ])("%s, by its header or in its body", (type, status, reason) => {
    const body = { message: "Why" };
    const named = [
      converseError(status, body, `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`),
      converseError(status, { ...body, __type: `com.amazon.coral.service#${type}` }),
    ];
    expect(named.map((error) => [providerFault(error).reason, error.code, error.message])).toEqual([
      [reason, type, "Why"],
      [reason, type, "Why"],
    ]);
  });

  test.each([
    ["internalServerException", FaultReason.PROVIDER_FAILED],
    ["modelStreamErrorException", FaultReason.PROVIDER_FAILED],
    ["modelTimeoutException", FaultReason.PROVIDER_TIMEOUT],
    ["serviceUnavailableException", FaultReason.PROVIDER_FAILED],
    ["throttlingException", FaultReason.RATE_LIMITED],
    ["validationException", FaultReason.INVALID_REQUEST],
    ["laterException", FaultReason.PROVIDER_FAILED],
  ])("%s as a frame", (type, reason) => {
    const more = { originalStatusCode: 500, originalMessage: "x" };
    expect(faultOf(() => readConverse([converseStart(), exceptionFrame(type, "Why", more)])).reason).toBe(reason);
  });

  test("an error of the service in front, and an exception without a body", () => {
    expect(faultOf(() => readConverse([converseStart(), errorFrame("InternalFailure", "Why")])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    const bare = frame({ ":message-type": "exception", ":exception-type": "throttlingException" });
    expect(faultOf(() => readConverse([converseStart(), bare])).reason).toBe(FaultReason.RATE_LIMITED);
  });

  test("a too long prompt is the caller's error; a missing model is the configuration's", () => {
    const reasonOf = (message: string) => providerFault(converseError(400, { message }, "ValidationException")).reason;
    expect(reasonOf("Input is too long for requested model.")).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    expect(reasonOf("The provided model identifier is invalid.")).toBe(FaultReason.NO_ENDPOINTS);
    const onDemand = "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request.";
    expect(reasonOf(onDemand)).toBe(FaultReason.NO_ENDPOINTS);
    expect(providerFault(converseError(403, { Message: "Denied" })).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(providerFault(converseError(424, undefined)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("Bedrock over a socket", () => {
  const upstreams: Upstream[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
  });

  async function open(...replies: readonly Reply[]): Promise<[Upstream, () => Turn]> {
    const upstream = await startUpstream(replies);
    upstreams.push(upstream);
    const provider = {
      dialect: "converse",
      base_url: upstream.url,
      api_keys: ["upstream-key"],
      timeouts: { idle_ms: 5_000 },
    };
    const upstream_model = "anthropic.claude-sonnet-4-5-20250929-v1:0";
    const endpoints = ["one", "two"].map((id) => ({ provider: id, upstream_model }));
    const engine = openEngine(
      testConfig({
        providers: ["one", "two"].map((id) => ({ id, ...provider })),
        models: [{ id: "acme/large-2", input_modalities: ["text", "image"], endpoints }],
      }),
    );
    closers.push(() => engine.upstreams.close());
    return [upstream, () => engine.turn];
  }
  const stream = (...frames: readonly Uint8Array[]): Reply => ({
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    chunks: [{ bytes: Buffer.concat(frames) }],
  });
  const hi = [converseStart(), ...converseTextBlock(0, "Hi"), ...endEvents("end_turn")];
  const exception = (status: number, type: string): Reply => ({
    status,
    headers: { "x-amzn-errortype": type },
    chunks: [{ json: { message: "Why" } }],
  });

  test("a stream has the model in the path, and a bearer key", async () => {
    const [upstream, turn] = await open(stream(...hi));
    const { events } = await runTestTurn(turn(), testRequest());
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { usage: { inputTokens: 30, outputTokens: 5 } } });
    const [request] = upstream.requests;
    expect([request?.method, request?.path]).toEqual([
      "POST",
      "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
    ]);
    expect(request?.headers).toMatchObject({
      authorization: "Bearer upstream-key",
      accept: "application/vnd.amazon.eventstream",
    });
    expect(request?.json).toEqual({ messages: [{ role: "user", content: [{ text: "Hi" }] }] });
  });

  test("a whole answer has a separate path", async () => {
    const [upstream, turn] = await open({ chunks: [{ json: converseAnswer([{ text: "Hi" }]) }] });
    const { events } = await runTestTurn(turn(), testRequest({ stream: false }));
    expect(maskIds(events.flatMap((event) => (event.type === "item.end" ? [event.item] : [])))).toEqual([said("Hi")]);
    expect(upstream.requests[0]?.path).toMatch(/\/converse$/);
    expect(upstream.requests[0]?.headers.accept).toBe("application/json");
  });

  test.each([true, false])("a throttled endpoint falls back to the next (stream: %s)", async (streamed) => {
    const [upstream, turn] = await open(
      exception(429, "ThrottlingException"),
      streamed ? stream(...hi) : { chunks: [{ json: converseAnswer([{ text: "Hi" }]) }] },
    );
    expect((await runTestTurn(turn(), testRequest({ stream: streamed }))).fault).toBeUndefined();
    expect(upstream.requests).toHaveLength(2);
  });

  test("an exception before any text falls back to the next endpoint", async () => {
    const [upstream, turn] = await open(
      stream(converseStart(), exceptionFrame("serviceUnavailableException", "Why")),
      stream(...hi),
    );
    expect((await runTestTurn(turn(), testRequest())).fault).toBeUndefined();
    expect(upstream.requests).toHaveLength(2);
  });

  test("an exception after text fails the turn", async () => {
    let opened: (value?: unknown) => void = () => undefined;
    const after = new Promise((resolve) => {
      opened = resolve;
    });
    const [upstream, turn] = await open({
      headers: { "content-type": "application/vnd.amazon.eventstream" },
      chunks: [
        { bytes: Buffer.concat([converseStart(), converseDelta(0, { text: "Hi" })]) },
        { bytes: exceptionFrame("modelStreamErrorException", "Why"), after },
      ],
    });
    const { scope } = newScope();
    const batches = await openAnswer(turn()(testRequest(), scope));
    opened();
    const reading = (async () => {
      for await (const _ of batches);
    })();
    await expect(reading).rejects.toMatchObject({ reason: FaultReason.PROVIDER_FAILED });
    expect(upstream.requests).toHaveLength(1);
  });

  test("missing usage is awaited only for a limited time", async () => {
    const [upstream, turn] = await open({
      ...stream(converseStart(), ...converseTextBlock(0, "Hi"), converseStop("end_turn")),
      hang: true,
    });
    const closed = upstream.nextClose();
    const { events, fault } = await runTestTurn(turn(), testRequest());
    expect(fault).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed" } });
    await closed;
  });

  test("the body is echoed without its binary contents", async () => {
    const [, turn] = await open(stream(...hi));
    const bytes = "QUJD".repeat(100);
    const content = [
      { type: "input_text", text: "?" },
      { type: "input_image", image_url: `data:image/png;base64,${bytes}` },
    ];
    const input = [{ type: "message", role: "user", content }];
    const { events } = await runTestTurn(turn(), testRequest({ input, echoUpstreamBody: true }));
    const [debug] = events;
    expect(debug?.type === "debug" && debug.bodyJson).toContain('"bytes":"[redacted]"');
    expect(JSON.stringify(debug)).not.toContain(bytes);
  });
});
