/**
 * What Amazon Bedrock says, as items of a response. The fixtures are made by hand after
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and the pages of the types that it names.
 */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Turn } from "@sluice/inference-svc/turn/turn.js";
import { converseError } from "@sluice/inference-svc/upstream/converse/error.js";
import { providerFault } from "@sluice/inference-svc/upstream/failure.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { errorFrame, eventFrame, exceptionFrame, frame } from "../support/event-stream.js";
import { type Reply, type Upstream, startUpstream } from "../support/upstream.js";
import { asking, functionTool, house, masked, newScope, openEngine, run } from "./asking.js";
import {
  answer,
  begun,
  blockStart,
  callBlock,
  delta,
  ended,
  gptOss,
  metadata,
  read,
  readBytes,
  readWhole,
  stopped,
  textBlock,
  thoughtBlock,
} from "./converse-telling.js";

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
  begun(),
  ...thoughtBlock(0, { text: "Let me " }, { text: "think. ☕" }, { signature: "EqQBCgIY" }),
  ...textBlock(1, "Okay, ", "checking the “weather” …"),
  ...callBlock(2, "get_weather", "", '{"town":', ' "Zürich"}'),
  ...callBlock(3, "now"),
  ...ended("tool_use"),
];

const wholeThing = answer(
  [
    { reasoningContent: { reasoningText: { text: "Let me think. ☕", signature: "EqQBCgIY" } } },
    { text: "Okay, checking the “weather” …" },
    { toolUse: { toolUseId: "tooluse_get_weather", name: "get_weather", input: { town: "Zürich" } } },
    { toolUse: { toolUseId: "tooluse_now", name: "now", input: {} } },
  ],
  { stopReason: "tool_use" },
);

describe("text", () => {
  test("a stream and the same said whole are the same", () => {
    const streamed = read([begun(), ...textBlock(0, "One, ", "two."), ...ended("end_turn")]);
    const whole = readWhole(answer([{ text: "One, two." }]));
    expect(masked(streamed.items)).toEqual([said("One, two.")]);
    expect([masked(whole.items), whole.outcome]).toEqual([masked(streamed.items), streamed.outcome]);
    expect(streamed.events.map(({ type }) => type)).toEqual([
      "item.start",
      "text.delta",
      "text.delta",
      "item.end",
      "end",
    ]);
  });

  test("texts that follow each other are one message, as they are with citations", () => {
    const cited = { citation: { title: "d", location: { documentPage: { documentIndex: 0, start: 1, end: 2 } } } };
    const blocks = [...textBlock(0, "a"), delta(1, cited), ...textBlock(1, "b"), ...textBlock(2, "c")];
    expect(masked(read([begun(), ...blocks, ...ended("end_turn")]).items)).toEqual([said("abc")]);
    const whole = answer([{ text: "a" }, { citationsContent: { content: [{ text: "b" }], citations: [] } }]);
    expect(masked(readWhole(whole).items)).toEqual([said("ab")]);
  });

  test("an answer without content, and blocks without text, are no items", () => {
    expect(read([begun(), ...ended("end_turn")]).items).toEqual([]);
    expect(read([begun(), ...textBlock(0, ""), ...ended("end_turn")]).items).toEqual([]);
    expect(readWhole(answer([])).items).toEqual([]);
  });

  test("what says nothing ends nothing: the thought before it was cut off", () => {
    const stopReason = "max_tokens";
    const cut = masked([thought("Hm", { status: "incomplete" })]);
    const blocks = [...thoughtBlock(0, { text: "Hm" }), ...textBlock(1, ""), ...thoughtBlock(2, { text: "" })];
    expect(masked(read([begun(), ...blocks, ...ended(stopReason)]).items)).toEqual(cut);
    const content = [{ reasoningContent: { reasoningText: { text: "Hm" } } }, { text: "" }];
    expect(masked(readWhole(answer(content, { stopReason })).items)).toEqual(cut);
  });

  test("a beginning that says nothing, and what nobody knows yet, are passed over", () => {
    const odd = [
      blockStart(0, {}),
      blockStart(1, { image: { format: "png" } }),
      delta(1, { image: { source: { bytes: "AA" } } }),
      delta(2, { toolUse: { input: "{}" } }),
      eventFrame("later", { x: 1 }),
    ];
    expect(masked(read([begun(), ...odd, ...textBlock(0, "a"), ...ended("end_turn")]).items)).toEqual([said("a")]);
  });
});

describe("calls, thoughts and their order", () => {
  test("thinking, text and two calls, in a stream and whole", () => {
    const { items, outcome } = read(everything);
    expect(masked(items)).toEqual([
      thought("Let me think. ☕", { signature: "EqQBCgIY" }),
      said("Okay, checking the “weather” …"),
      call("get_weather", '{"town": "Zürich"}'),
      call("now", "{}"),
    ]);
    expect(items.slice(2).map((item) => item.call_id)).toEqual(["tooluse_get_weather", "tooluse_now"]);
    expect(outcome.status).toBe("completed");
    const whole = readWhole(JSON.stringify(wholeThing).replace('{"town":"Z', '{"town": "Z'));
    expect([masked(whole.items), whole.outcome]).toEqual([masked(items), outcome]);
  });

  test("more of a call that another has followed fails the answer", () => {
    const [one, other] = [callBlock(0, "get_weather", '{"town":'), callBlock(1, "now")];
    const beside = [...one.slice(0, -1), ...other, delta(0, { toolUse: { input: '"Bern"}' } })];
    expect(() => read([begun(), ...beside, ...ended("tool_use")])).toThrow("Provider returned error");
  });

  test("cut anywhere, the bytes say the same", () => {
    const bytes = Buffer.concat(everything);
    const whole = masked(readBytes([bytes]).events);
    for (let at = 1; at < bytes.length; at++) {
      expect(masked(readBytes([bytes.subarray(0, at), bytes.subarray(at)]).events)).toEqual(whole);
    }
    expect(masked(readBytes([...bytes].map((byte) => Uint8Array.of(byte))).events)).toEqual(whole);
  });

  test("numbers in the input of a whole call are not rounded", () => {
    const use = (name: string, input: object) => ({ toolUse: { toolUseId: name, name, input } });
    const whole = JSON.stringify(answer([{ text: "x" }, use("f", { n: "N" }), use("g", {})]));
    const { items } = readWhole(whole.replace('"N"', "12345678901234567890"));
    expect(masked(items)).toEqual([said("x"), call("f", '{"n":12345678901234567890}'), call("g", "{}")]);
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
    const { items } = read([begun(), ...blocks, ...ended("tool_use")], { tools });
    expect(masked(items)).toEqual([custom, call("find", "{}", { namespace: "crm" })]);
    const use = { toolUse: { toolUseId: "t", name: "patch", input: { input: "aé\n" } } };
    expect(masked(readWhole(answer([use]), { tools }).items)).toEqual([custom]);
    const silent = read([begun(), ...callBlock(0, "patch"), ...ended("tool_use")], { tools });
    expect(silent.items[0]?.input).toBe("");
  });

  test("thought that is not shown is signed all the same; sealed thought only where it was asked for", () => {
    const frames = [
      begun(),
      ...thoughtBlock(0, { signature: "sig" }),
      ...thoughtBlock(1, { redactedContent: "c2VhbGVk" }),
      ...textBlock(2, "Hi"),
      ...ended("end_turn"),
    ];
    expect(masked(read(frames).items)).toEqual([thought(undefined, { signature: "sig" }), said("Hi")]);
    const include = ["reasoning.encrypted_content"];
    const { items } = read(frames, { include });
    const sealed = thought(undefined, { encrypted_content: "c2VhbGVk" });
    expect(masked(items)).toEqual([thought(undefined, { signature: "sig" }), sealed, said("Hi")]);
    const whole = answer([{ reasoningContent: { redactedContent: "c2VhbGVk" } }]);
    expect([masked(readWhole(whole).items), masked(readWhole(whole, { include }).items)]).toEqual([[], [sealed]]);
  });

  test("thought of other families has no format that anybody could take back", () => {
    const frames = [begun(), ...thoughtBlock(0, { text: "Hm" }), ...textBlock(1, "Hi"), ...ended("end_turn")];
    expect(read(frames, {}, gptOss).items[0]?.format).toBe("unknown");
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
      read([begun(), ...textBlock(0, "Hi"), ...ended(stopReason)]),
      readWhole(answer([{ text: "Hi" }], { stopReason })),
    ]) {
      expect(outcome).toMatchObject({ status, ...(reason && { reason }) });
      expect(items[0]?.status).toBe(status);
    }
  });

  test.each(["malformed_tool_use", "malformed_model_output"])("%s is no answer", (stopReason) => {
    const frames = [begun(), ...textBlock(0, "Hi"), ...ended(stopReason)];
    expect(faultOf(() => read(frames)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("figures: cached tokens are among the input; the tier is the one that served", () => {
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
    expect(read([begun(), stopped("end_turn"), metadata(usage, tier)]).outcome).toEqual(expected);
    expect(readWhole(answer([], { usage, ...tier })).outcome).toEqual(expected);
  });

  test("without its figures an answer is whole all the same, also when they stop halfway", () => {
    const frames = [begun(), ...textBlock(0, "Hi"), stopped("end_turn")];
    const expected = { status: "completed", serviceTier: "default" };
    expect(read(frames).outcome).toEqual(expected);
    expect(read([...frames, metadata().subarray(0, 40)]).outcome).toEqual(expected);
  });

  test("what comes after the end is not read", () => {
    const frames = [begun(), ...textBlock(0, "Hi"), ...ended("end_turn"), exceptionFrame("throttlingException", "x")];
    expect(masked(read(frames).items)).toEqual([said("Hi")]);
  });

  test("a stream that stops without its reason, or inside of a frame, is no answer", () => {
    const frames = [begun(), ...textBlock(0, "Hi")];
    expect(faultOf(() => read(frames)).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(faultOf(() => read([...frames, stopped("end_turn").subarray(0, -1)])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    expect(faultOf(() => read([...frames, metadata()])).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(faultOf(() => readWhole({ message: "x" })).reason).toBe(FaultReason.PROVIDER_FAILED);
  });

  test.each([
    ["not JSON", frame({ ":message-type": "event", ":event-type": "messageStop" }, "{")],
    ["invalid UTF-8", frame({ ":message-type": "event", ":event-type": "x" }, Uint8Array.of(0x22, 0xff, 0x22))],
    ["of no type", frame({}, "{}")],
  ])("a frame that is %s is a failure", (_, bad) => {
    expect(faultOf(() => read([begun(), bad])).reason).toBe(FaultReason.PROVIDER_FAILED);
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
    expect(faultOf(() => read([begun(), exceptionFrame(type, "Why", more)])).reason).toBe(reason);
  });

  test("an error of the service in front, and an exception without a body", () => {
    expect(faultOf(() => read([begun(), errorFrame("InternalFailure", "Why")])).reason).toBe(
      FaultReason.PROVIDER_FAILED,
    );
    const bare = frame({ ":message-type": "exception", ":exception-type": "throttlingException" });
    expect(faultOf(() => read([begun(), bare])).reason).toBe(FaultReason.RATE_LIMITED);
  });

  test("what is too long is the caller's; a model that is not there is the configuration's", () => {
    const reasonOf = (message: string) => providerFault(converseError(400, { message }, "ValidationException")).reason;
    expect(reasonOf("Input is too long for requested model.")).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    expect(reasonOf("The provided model identifier is invalid.")).toBe(FaultReason.NO_ENDPOINTS);
    const onDemand = "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request.";
    expect(reasonOf(onDemand)).toBe(FaultReason.NO_ENDPOINTS);
    expect(providerFault(converseError(403, { Message: "Denied" })).reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(providerFault(converseError(424, undefined)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("over a socket", () => {
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
      house({
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
  const hi = [begun(), ...textBlock(0, "Hi"), ...ended("end_turn")];
  const exception = (status: number, type: string): Reply => ({
    status,
    headers: { "x-amzn-errortype": type },
    chunks: [{ json: { message: "Why" } }],
  });

  test("a stream: the model is named in the path, the key is a bearer's", async () => {
    const [upstream, turn] = await open(stream(...hi));
    const { events } = await run(turn(), asking());
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

  test("a whole answer has its own path", async () => {
    const [upstream, turn] = await open({ chunks: [{ json: answer([{ text: "Hi" }]) }] });
    const { events } = await run(turn(), asking({ stream: false }));
    expect(masked(events.flatMap((event) => (event.type === "item.end" ? [event.item] : [])))).toEqual([said("Hi")]);
    expect(upstream.requests[0]?.path).toMatch(/\/converse$/);
    expect(upstream.requests[0]?.headers.accept).toBe("application/json");
  });

  test.each([true, false])("a throttled endpoint is left for the next one (stream: %s)", async (streamed) => {
    const [upstream, turn] = await open(
      exception(429, "ThrottlingException"),
      streamed ? stream(...hi) : { chunks: [{ json: answer([{ text: "Hi" }]) }] },
    );
    expect((await run(turn(), asking({ stream: streamed }))).fault).toBeUndefined();
    expect(upstream.requests).toHaveLength(2);
  });

  test("an exception before a word was said: the next endpoint answers", async () => {
    const [upstream, turn] = await open(
      stream(begun(), exceptionFrame("serviceUnavailableException", "Why")),
      stream(...hi),
    );
    expect((await run(turn(), asking())).fault).toBeUndefined();
    expect(upstream.requests).toHaveLength(2);
  });

  test("an exception after a word was said: the turn fails", async () => {
    let opened: (value?: unknown) => void = () => undefined;
    const after = new Promise((resolve) => {
      opened = resolve;
    });
    const [upstream, turn] = await open({
      headers: { "content-type": "application/vnd.amazon.eventstream" },
      chunks: [
        { bytes: Buffer.concat([begun(), delta(0, { text: "Hi" })]) },
        { bytes: exceptionFrame("modelStreamErrorException", "Why"), after },
      ],
    });
    const { scope } = newScope();
    const batches = await turn()(asking(), scope);
    opened();
    const reading = (async () => {
      for await (const _ of batches);
    })();
    await expect(reading).rejects.toMatchObject({ reason: FaultReason.PROVIDER_FAILED });
    expect(upstream.requests).toHaveLength(1);
  });

  test("figures that never come are not waited for without end", async () => {
    const [upstream, turn] = await open({
      ...stream(begun(), ...textBlock(0, "Hi"), stopped("end_turn")),
      hang: true,
    });
    const closed = upstream.nextClose();
    const { events, fault } = await run(turn(), asking());
    expect(fault).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: "end", outcome: { status: "completed" } });
    await closed;
  });

  test("the body is echoed without the bytes of what it holds", async () => {
    const [, turn] = await open(stream(...hi));
    const bytes = "QUJD".repeat(100);
    const content = [
      { type: "input_text", text: "?" },
      { type: "input_image", image_url: `data:image/png;base64,${bytes}` },
    ];
    const input = [{ type: "message", role: "user", content }];
    const { events } = await run(turn(), asking({ input, echoUpstreamBody: true }));
    const [debug] = events;
    expect(debug?.type === "debug" && debug.bodyJson).toContain('"bytes":"[redacted]"');
    expect(JSON.stringify(debug)).not.toContain(bytes);
  });
});
