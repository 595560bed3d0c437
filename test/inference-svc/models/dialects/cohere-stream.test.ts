/**
 * Answers of Cohere servers as output items. The fixtures are made by hand after the examples of https://docs.cohere.com/docs/streaming,
 * https://docs.cohere.com/docs/tool-use-streaming and https://docs.cohere.com/docs/reasoning.
 */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { Turn, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { cohereError } from "@sluice/inference-svc/models/upstream/cohere/error.js";
import { CohereTranslator } from "@sluice/inference-svc/models/upstream/cohere/stream.js";
import { cohereUsage } from "@sluice/inference-svc/models/upstream/cohere/usage.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { EventScanner } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import { testRequest, functionTool, testConfig, maskIds, openEngine, runTestTurn } from "../../asking.js";
import {
  cohereBlockStart,
  cohereCall,
  cohereCallDelta,
  cohereCallEnd,
  cohereCallStart,
  cohereCitation,
  cohereDelta,
  cohereEnd,
  coherePlan,
  cohereStart,
  cohereTarget,
  cohereTextBlock,
  cohereThoughtBlock,
  readCohere,
  wholeCohere,
  wholeCohereCall,
} from "./cohere-translation.js";

const faultOf = (act: () => unknown): Fault => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};
const reasonOf = (events: readonly unknown[]) => faultOf(() => readCohere(events)).reason;

const said = (text: string, more: object = {}, ...annotations: unknown[]) => ({
  type: "message",
  id: "masked",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations, logprobs: [] }],
  ...more,
});
const thought = (text: string, more: object = {}) => ({
  type: "reasoning",
  id: "masked",
  status: "completed",
  summary: [],
  content: [{ type: "reasoning_text", text }],
  format: "unknown",
  signature: null,
  ...more,
});
const called = (name: string, json: string, more: object = {}) => ({
  type: "function_call",
  id: "masked",
  call_id: "masked",
  name,
  arguments: json,
  status: "completed",
  ...more,
});
const itemsOf = (events: readonly unknown[]) => maskIds(readCohere(events).items);
const streamOf = (...events: readonly unknown[]) => [cohereStart, ...events, cohereEnd()];

const everything = [
  cohereStart,
  ...cohereThoughtBlock(0, "Let me ", "think. ☕"),
  ...coherePlan("I will", " check the “weather” …"),
  ...cohereCall(0, "get_weather", '{\n    "', "town", '":', ' "Zürich"\n}'),
  ...cohereCall(1, "now", "{}"),
  cohereEnd("TOOL_CALL"),
];
const wholeThing = wholeCohere(
  {
    content: [{ type: "thinking", thinking: "Let me think. ☕" }],
    tool_plan: "I will check the “weather” …",
    tool_calls: [wholeCohereCall(0, "get_weather", '{\n    "town": "Zürich"\n}'), wholeCohereCall(1, "now", "{}")],
  },
  { finish_reason: "TOOL_CALL" },
);

describe("content", () => {
  test("a stream and the whole answer give the same items", () => {
    const streamed = readCohere(streamOf(...cohereTextBlock(0, "One, ", "two.")));
    const whole = readCohere([wholeCohere({ content: [{ type: "text", text: "One, two." }] })]);
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

  test("thoughts, a plan and two calls, in a stream and whole", () => {
    const { items, outcome } = readCohere(everything);
    expect(maskIds(items)).toEqual([
      thought("Let me think. ☕"),
      said("I will check the “weather” …"),
      called("get_weather", '{\n    "town": "Zürich"\n}'),
      called("now", "{}"),
    ]);
    expect(items.slice(2).map((item) => item.call_id)).toEqual(["get_weather_0", "now_1"]);
    const whole = readCohere([wholeThing]);
    expect([maskIds(whole.items), whole.outcome]).toEqual([maskIds(items), outcome]);
  });

  test("the bytes may be cut anywhere", () => {
    const bytes = Buffer.from(
      everything.map((each) => `event: ${each.type}\r\ndata: ${JSON.stringify(each)}\r\n\r\n`).join(""),
    );
    const readBytes = (pieces: readonly Uint8Array[]): unknown => {
      const given: TurnEvent[] = [];
      const translator = new CohereTranslator(testRequest(), cohereTarget, (event) => given.push(event));
      const scanner = new EventScanner((name, data) => translator.event(name, data));
      for (const piece of pieces) scanner.feed(piece);
      scanner.flush();
      translator.close();
      return maskIds(given);
    };
    const whole = readBytes([bytes]);
    for (let at = 1; at < bytes.length; at++) {
      expect(readBytes([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    }
    expect(readBytes([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  test("lost after any event but the last, it is a lost connection; its text stays", () => {
    for (let count = 0; count < everything.length; count++) {
      expect(reasonOf(everything.slice(0, count))).toBe(FaultReason.PROVIDER_FAILED);
    }
  });

  test("consecutive texts are one message, reasoning keeps its blocks", () => {
    const blocks = [
      ...cohereThoughtBlock(0, "a"),
      ...cohereThoughtBlock(1, "b"),
      ...cohereTextBlock(2, "c"),
      ...cohereTextBlock(3, "d"),
    ];
    const items = [thought("a"), thought("b"), said("cd")];
    expect(itemsOf(streamOf(...blocks))).toEqual(items);
    const content = [
      { type: "thinking", thinking: "a" },
      { type: "thinking", thinking: "b" },
      { type: "text", text: "c" },
      { type: "text", text: "d" },
    ];
    expect(itemsOf([wholeCohere({ content })])).toEqual(items);
    expect(itemsOf([wholeCohere({ content: "as a string" })])).toEqual([said("as a string")]);
  });

  test("the beginning of a block may hold text, and may be missing", () => {
    expect(itemsOf(streamOf(cohereBlockStart(0, { type: "text", text: "a" }), cohereDelta(0, { text: "b" })))).toEqual([
      said("ab"),
    ]);
    expect(itemsOf([cohereDelta(0, { thinking: "t" }), cohereDelta(1, { text: "b" }), cohereEnd()])).toEqual([
      thought("t"),
      said("b"),
    ]);
  });

  test("blocks without words are no items and end nothing: the thought before them was cut off", () => {
    expect(readCohere(streamOf()).items).toEqual([]);
    expect(readCohere([wholeCohere({})]).items).toEqual([]);
    const blocks = [...cohereThoughtBlock(0, "Hm"), ...cohereTextBlock(1, ""), ...cohereThoughtBlock(2, "")];
    expect(itemsOf([cohereStart, ...blocks, cohereEnd("MAX_TOKENS")])).toEqual([
      thought("Hm", { status: "incomplete" }),
    ]);
  });

  test("events are known by their names too, and those of later versions are passed over", () => {
    const given: TurnEvent[] = [];
    const translator = new CohereTranslator(testRequest(), cohereTarget, (event) => given.push(event));
    const { type: _, ...untyped } = cohereDelta(0, { text: "Hi" });
    translator.event("content-delta", JSON.stringify(untyped));
    for (const later of [
      { type: "debug", prompt: "p" },
      { type: "later", message: "m" },
    ]) {
      translator.event(later.type, JSON.stringify(later));
    }
    translator.event("message-end", JSON.stringify({ delta: { finish_reason: "COMPLETE" } }));
    expect(given.map(({ type }) => type)).toEqual(["item.start", "text.delta", "item.end", "end"]);
  });
});

describe("calls", () => {
  test("the client's names come back, and the input of a custom tool", () => {
    const custom = { type: "custom", name: "sql", json: '{"type":"custom","name":"sql"}' } as const;
    const space = { type: "namespace", name: "crm", description: "D", tools: [functionTool()], json: "{}" } as const;
    const events = streamOf(
      ...cohereCall(0, "sql", '{"inp', 'ut": "SELECT \\', 'n1"}'),
      ...cohereCall(1, "crm__f", "{}"),
      ...cohereCall(2, "sql", "null"),
      ...cohereCall(3, "unknown", "{}"),
    );
    const { items } = readCohere(events, { tools: [custom, space] });
    expect(items).toMatchObject([
      { type: "custom_tool_call", name: "sql", input: "SELECT \n1" },
      { type: "function_call", namespace: "crm", name: "f", arguments: "{}" },
      { type: "custom_tool_call", name: "sql", input: "" },
      { type: "function_call", name: "unknown", arguments: "{}" },
    ]);
  });

  test.each([
    ["nothing", []],
    ["null", ["null"]],
    ["null in pieces", ["nu", "ll"]],
  ])("the arguments of a tool without parameters: %s", (_, pieces) => {
    expect(itemsOf(streamOf(...cohereCall(0, "f", ...pieces)))).toEqual([called("f", "{}")]);
    expect(itemsOf([wholeCohere({ tool_calls: [wholeCohereCall(0, "f", pieces.join(""))] })])).toEqual([
      called("f", "{}"),
    ]);
  });

  test("a call may begin with arguments, and end with the next one", () => {
    const events = streamOf(cohereCallStart(0, "f", '{"a"'), cohereCallDelta(0, ":1}"), cohereCallStart(1, "g"));
    expect(itemsOf(events)).toEqual([called("f", '{"a":1}'), called("g", "{}")]);
  });

  test("arguments as an object, as compatible servers send them", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: { a: 1 } } };
    expect(itemsOf([wholeCohere({ tool_calls: [call] })])).toEqual([called("f", '{"a":1}')]);
  });

  test("a call cut by the limit is incomplete, with its received part", () => {
    const events = [cohereStart, ...cohereCall(0, "f", "{}"), cohereCallStart(1, "g"), cohereCallDelta(1, '{"a')];
    expect(itemsOf([...events, cohereEnd("MAX_TOKENS")])).toEqual([
      called("f", "{}"),
      called("g", '{"a', { status: "incomplete" }),
    ]);
  });

  test.each<[string, readonly unknown[]]>([
    ["a delta without a beginning", [cohereCallDelta(0, "{}")]],
    ["a delta of a call that another has followed", [cohereCallStart(0), cohereCallStart(1), cohereCallDelta(0, "{}")]],
    [
      "a delta of a call that a text has followed",
      [cohereCallStart(0), ...cohereTextBlock(0, "a"), cohereCallDelta(0, "{}")],
    ],
    ["arguments behind the end", [...cohereCall(0, "f", "{}"), cohereCallDelta(0, "{}")]],
    ["no name", [cohereCallStart(0, "")]],
    ["no call", [{ type: "tool-call-start", index: 0, delta: { message: {} } }]],
    ["a call as a list", [{ type: "tool-call-start", delta: { message: { tool_calls: [] } } }]],
  ])("%s fails the answer", (_, events) => {
    expect(reasonOf(streamOf(...events))).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("an end without an open call is ignored", () => {
    expect(itemsOf(streamOf(cohereCallEnd(3), ...cohereCall(0, "f", "{}"), cohereCallEnd(0)))).toEqual([
      called("f", "{}"),
    ]);
  });
});

describe("citations", () => {
  const url = "https://a.example/";
  const document = { type: "document", id: "doc:0", document: { id: "doc:0", title: "A", url } };
  const annotation = (start_index: number, end_index: number, title = "A") => ({
    type: "url_citation",
    url,
    title,
    start_index,
    end_index,
  });
  const citation = (start: number, end: number, text: string, more: object = {}) => ({
    start,
    end,
    text,
    sources: [document],
    type: "TEXT_CONTENT",
    ...more,
  });

  test("for a source with a URL come in the middle of the text and whole", () => {
    const cited = citation(2, 7, "Nsync");
    const events = streamOf(
      cohereBlockStart(0, { type: "text", text: "" }),
      cohereDelta(0, { text: "☕ Nsync" }),
      ...cohereCitation(0, cited),
      cohereDelta(0, { text: " and" }),
    );
    const items = [said("☕ Nsync and", {}, annotation(2, 7))];
    expect(itemsOf(events)).toEqual(items);
    const content = [{ type: "text", text: "☕ Nsync and" }];
    expect(itemsOf([wholeCohere({ content, citations: [cited] })])).toEqual(items);
  });

  test("for a tool's output come after the text's end, too", () => {
    const source = { type: "tool", id: "f_0:0", tool_output: { url, text: "…" } };
    const cited = citation(0, 1, "a", { sources: [source, { type: "tool", tool_output: { text: "…" } }] });
    expect(itemsOf(streamOf(...cohereTextBlock(0, "ab"), ...cohereCitation(0, cited)))).toEqual([
      said("ab", {}, annotation(0, 1, "")),
    ]);
  });

  test("their places are those of their block; where they do not match, the text is searched", () => {
    const blocks = [...cohereThoughtBlock(0, "t"), ...cohereTextBlock(1, "☕x"), ...cohereTextBlock(2, "yz")];
    const places = (cited: object) =>
      readCohere(streamOf(...blocks, ...cohereCitation(0, cited))).items[1] as ReturnType<typeof said>;
    expect(places(citation(1, 2, "z", { content_index: 2 })).content[0]?.annotations).toEqual([annotation(3, 4)]);
    expect(places(citation(9, 12, "x")).content[0]?.annotations).toEqual([annotation(1, 2)]);
    expect(places(citation(9, 12, "not there")).content[0]?.annotations).toEqual([annotation(0, 4)]);
    expect(places({ sources: [document] }).content[0]?.annotations).toEqual([annotation(0, 4)]);
  });

  test("whole are for the block they name, or else for the last text", () => {
    const content = [
      { type: "text", text: "ab" },
      { type: "thinking", thinking: "t" },
      { type: "text", text: "ac" },
    ];
    const cited = (citations: unknown) => itemsOf([wholeCohere({ content, citations })]);
    const [first, last] = [citation(0, 1, "a", { content_index: 0 }), citation(0, 1, "a")];
    expect(cited([first])).toEqual([said("ab", {}, annotation(0, 1)), thought("t"), said("ac")]);
    const items = [said("ab"), thought("t"), said("ac", {}, annotation(0, 1))];
    for (const content_index of [undefined, 1, 7, "x"]) expect(cited([{ ...last, content_index }])).toEqual(items);
    expect(itemsOf([wholeCohere({ content: "a", citations: [last] })])).toEqual([said("a", {}, annotation(0, 1))]);
  });

  test("before any text are ignored", () => {
    const events = streamOf(...cohereCitation(0, citation(0, 1, "a")), ...cohereTextBlock(0, "a"));
    expect(itemsOf(events)).toEqual([said("a")]);
  });

  test.each<[string, unknown]>([
    ["a document without a URL", citation(0, 1, "a", { sources: [{ type: "document", document: { title: "A" } }] })],
    ["a URL that is no web page", citation(0, 1, "a", { sources: [{ document: { url: "javascript:0" } }] })],
    ["no sources", citation(0, 1, "a", { sources: null })],
    ["a citation of a thought", citation(0, 1, "a", { type: "THINKING_CONTENT" })],
    ["a citation of a plan", citation(0, 1, "a", { type: "PLAN" })],
    ["no citation", null],
  ])("%s is left out", (_, cited) => {
    expect(itemsOf(streamOf(...cohereTextBlock(0, "a"), ...cohereCitation(0, cited as object)))).toEqual([said("a")]);
  });
});

describe("ends", () => {
  test.each([
    ["COMPLETE", "completed", undefined],
    ["STOP_SEQUENCE", "completed", undefined],
    ["TOOL_CALL", "completed", undefined],
    ["OF_TOMORROW", "completed", undefined],
    ["MAX_TOKENS", "incomplete", "max_output_tokens"],
    ["max_tokens", "incomplete", "max_output_tokens"],
  ])("%s is %s", (finish, status, reason) => {
    const streamed = readCohere([...cohereTextBlock(0, "Hi"), cohereEnd(finish)]);
    const whole = readCohere([wholeCohere({ content: [{ type: "text", text: "Hi" }] }, { finish_reason: finish })]);
    for (const { items, outcome } of [streamed, whole]) {
      expect([outcome.status, outcome.reason, items[0]?.status]).toEqual([status, reason, status]);
    }
  });

  test.each([
    ["ERROR", FaultReason.PROVIDER_FAILED],
    ["TIMEOUT", FaultReason.PROVIDER_TIMEOUT],
  ])("%s is a failure", (finish, reason) => {
    expect(reasonOf([...cohereTextBlock(0, "Hi"), cohereEnd(finish)])).toBe(reason);
    expect(reasonOf([wholeCohere({ content: [] }, { finish_reason: finish })])).toBe(reason);
  });

  test("an end without a reason, or with an error, is none", () => {
    expect(reasonOf([...cohereTextBlock(0, "Hi"), { type: "message-end" }])).toBe(FaultReason.PROVIDER_FAILED);
    expect(reasonOf([wholeCohere({ content: [] }, { finish_reason: null })])).toBe(FaultReason.PROVIDER_FAILED);
    const error = "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.";
    expect(reasonOf([cohereEnd("ERROR", { error })])).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    expect(reasonOf([cohereEnd("COMPLETE", { error: "it broke" })])).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("a full window ends the answer as a limit does", () => {
    const given: TurnEvent[] = [];
    const translator = new CohereTranslator(testRequest(), cohereTarget, (event) => given.push(event));
    translator.event(undefined, JSON.stringify(cohereDelta(0, { text: "Hi" })));
    expect([translator.finished, translator.usage]).toEqual([false, undefined]);
    translator.cut();
    expect([translator.finished, translator.done]).toEqual([true, true]);
    expect(given.at(-1)).toMatchObject({ outcome: { status: "incomplete", reason: "max_output_tokens" } });
  });

  test.each<[string, string]>([
    ["no JSON", "<html>"],
    ["no object", "[]"],
    ["an object of nothing", "{}"],
    ["a message of an error", '{"message":"internal server error","id":"x"}'],
    ["an error", '{"error":{"message":"m"}}'],
    ["an event called error", '{"type":"error"}'],
  ])("%s is no answer", (_, data) => {
    expect(reasonOf([cohereStart, data])).toBe(FaultReason.PROVIDER_FAILED);
  });

  test.each<[string, unknown]>([
    ["content that is no object", { type: "content-delta", delta: { message: { content: 7 } } }],
    ["a delta that is none", { type: "content-delta", delta: [] }],
    ["a text that is none", cohereDelta(0, { text: 7, thinking: {} })],
    ["a plan that is none", { type: "tool-plan-delta", delta: { message: { tool_plan: [] } } }],
    ["a citation of nothing", { type: "citation-start" }],
  ])("%s is ignored", (_, event) => {
    expect(itemsOf(streamOf(event, ...cohereTextBlock(0, "Hi")))).toEqual([said("Hi")]);
  });
});

describe("figures", () => {
  const none = { inputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };

  test("billed tokens count; unbilled input counts as cached first", () => {
    const tokens = { input_tokens: 913, output_tokens: 83 };
    const billed_units = { input_tokens: 37, output_tokens: 28 };
    expect(cohereUsage({ billed_units, tokens })).toEqual({ ...none, inputTokens: 37, outputTokens: 28 });
    expect(cohereUsage({ billed_units, tokens, cached_tokens: 800 })?.cachedTokens).toBe(0);
    expect(cohereUsage({ billed_units, tokens, cached_tokens: 896 })?.cachedTokens).toBe(20);
    expect(cohereUsage({ billed_units, tokens, cached_tokens: 9_999 })?.cachedTokens).toBe(37);
  });

  test("without billed units, the model's input and output tokens count", () => {
    const tokens = { input_tokens: 71, output_tokens: 26 };
    const usage = { ...none, inputTokens: 71, outputTokens: 26 };
    expect(cohereUsage({ tokens })).toEqual(usage);
    expect(cohereUsage({ tokens, billed_units: { input_tokens: 0, output_tokens: 0 } })).toEqual(usage);
    expect(cohereUsage({ tokens, cached_tokens: 30 })?.cachedTokens).toBe(30);
  });

  test("impossible figures are zero, and missing figures are unknown", () => {
    expect(cohereUsage({ billed_units: 7, tokens: { input_tokens: -5, output_tokens: "x" } })).toEqual(none);
    expect(cohereUsage(undefined)).toBeUndefined();
  });

  test("a failed answer has its figures", () => {
    const translator = new CohereTranslator(testRequest(), cohereTarget, () => undefined);
    faultOf(() => translator.event(undefined, JSON.stringify(cohereEnd("ERROR"))));
    expect(translator.usage).toEqual({ ...none, inputTokens: 5, outputTokens: 26 });
  });
});

// https://docs.cohere.com/reference/errors
describe("errors", () => {
  test.each([
    [400, "invalid request: prompt must be at least 1 token long.", FaultReason.INVALID_REQUEST],
    [400, "too many tokens: size limit exceeded by 11326 tokens.", FaultReason.CONTEXT_LENGTH_EXCEEDED],
    [400, "invalid request: model 'command-r' is not supported by the generate API", FaultReason.NO_ENDPOINTS],
    [401, "invalid api token", FaultReason.PROVIDER_FAILED],
    [402, "Please add or update your payment method", FaultReason.PROVIDER_FAILED],
    [403, "forbidden", FaultReason.PROVIDER_FAILED],
    [404, "model 'xyz' not found, make sure the correct model ID was used", FaultReason.NO_ENDPOINTS],
    [422, "Why", FaultReason.UNPROCESSABLE],
    [429, "You are past the per minute request limit, please wait and try again later.", FaultReason.RATE_LIMITED],
    [429, "You are using a Trial key, which is limited to 1000 API calls / month.", FaultReason.PROVIDER_FAILED],
    [498, "Why", FaultReason.CONTENT_POLICY],
    [499, "request cancelled", FaultReason.PROVIDER_FAILED],
    [500, "internal server error", FaultReason.PROVIDER_FAILED],
    [501, "Why", FaultReason.PROVIDER_FAILED],
    [503, "Why", FaultReason.PROVIDER_FAILED],
    [504, "Why", FaultReason.PROVIDER_TIMEOUT],
  ])("the status %i gives the error %s", (status, message, reason) => {
    const error = cohereError(status, { message, id: "8268c123" });
    expect([providerFault(error).reason, error.message]).toEqual([reason, message]);
  });

  test("errors of clouds, of proxies, and without a body keep their meaning", () => {
    const nested = cohereError(400, { error: { code: "bad_input", message: "Why" } });
    expect(nested).toEqual({ status: 400, code: "bad_input", message: "Why" });
    expect(cohereError(400, { error: "Why" }).message).toBe("Why");
    expect(cohereError(422, { detail: "Why" }).message).toBe("Why");
    expect(providerFault(cohereError(503, undefined)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("Cohere over a socket", () => {
  const upstreams: Upstream[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(closers.splice(0).map((close) => close()));
    await Promise.all(upstreams.splice(0).map((upstream) => upstream.stop()));
  });

  async function open(...replies: readonly Reply[]): Promise<[Upstream, Turn]> {
    const upstream = await startUpstream(replies);
    upstreams.push(upstream);
    const provider = { dialect: "cohere", base_url: upstream.url, api_keys: ["upstream-key"] };
    const endpoints = ["one", "two"].map((id) => ({ provider: id, upstream_model: "command-a" }));
    const engine = openEngine(
      testConfig({
        providers: ["one", "two"].map((id) => ({ id, ...provider })),
        models: [{ id: "acme/large-2", endpoints }],
      }),
    );
    closers.push(() => engine.upstreams.close());
    return [upstream, engine.turn];
  }
  const hi = streamOf(...cohereTextBlock(0, "Hi"));
  const whole: Reply = { chunks: [{ json: wholeCohere({ content: [{ type: "text", text: "Hi" }] }) }] };

  test("streams and whole answers share a path, with a bearer key", async () => {
    const [upstream, turn] = await open({ chunks: [{ sse: hi }] }, whole);
    const streamed = await runTestTurn(turn, testRequest());
    expect(streamed.events.at(-1)).toMatchObject({ outcome: { usage: { inputTokens: 5, outputTokens: 26 } } });
    expect((await runTestTurn(turn, testRequest({ stream: false }))).events.at(-1)?.type).toBe("end");
    expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /v2/chat",
      "POST /v2/chat",
    ]);
    expect(upstream.requests.map(({ headers }) => headers.accept)).toEqual(["text/event-stream", "application/json"]);
    expect(upstream.requests[0]?.headers.authorization).toBe("Bearer upstream-key");
    expect(upstream.requests[0]?.json).toEqual({
      model: "command-a",
      stream: true,
      messages: [{ role: "user", content: "Hi" }],
    });
  });

  test.each<[string, boolean, Reply]>([
    ["as an answer", true, { status: 503, chunks: [{ json: { message: "Why", id: "x" } }] }],
    ["as an answer", false, { status: 503, chunks: [{ json: { message: "Why", id: "x" } }] }],
    ["at the end of a stream", true, { chunks: [{ sse: [cohereStart, cohereEnd("ERROR")] }] }],
    ["by a stream that stops", true, { chunks: [{ sse: [cohereStart] }] }],
  ])("a failure before any text, %s, falls back to the next endpoint (stream: %s)", async (_, stream, failure) => {
    const [upstream, turn] = await open(failure, stream ? { chunks: [{ sse: hi }] } : whole);
    const { events, fault } = await runTestTurn(turn, testRequest({ stream }));
    expect([fault, events.at(-1)?.type, upstream.requests.length]).toEqual([undefined, "end", 2]);
  });

  test("a stream cut after text is a failure without a retry", async () => {
    const [upstream, turn] = await open({
      chunks: [{ sse: [cohereStart, cohereDelta(0, { text: "Hi" })] }],
      cut: true,
    });
    const { fault, rejected } = await runTestTurn(turn, testRequest());
    expect([fault?.reason, rejected, upstream.requests.length]).toEqual([FaultReason.PROVIDER_FAILED, false, 1]);
  });
});
