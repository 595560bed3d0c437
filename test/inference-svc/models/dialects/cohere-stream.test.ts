/**
 * Answers of Cohere servers as output items. The fixtures are made by hand after the examples of https://docs.cohere.com/docs/streaming,
 * https://docs.cohere.com/docs/tool-use-streaming and https://docs.cohere.com/docs/reasoning.
 */
import { describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { cohereError } from "@sluice/inference-svc/models/upstream/cohere/error.js";
import { CohereTranslator } from "@sluice/inference-svc/models/upstream/cohere/stream.js";
import { cohereUsage } from "@sluice/inference-svc/models/upstream/cohere/usage.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { testRequest, maskIds } from "../../asking.js";
import {
  cohereBlockStart,
  cohereCall,
  cohereCallDelta,
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
import { thrownFault, shownCall, shownMessage, shownPart, shownThought } from "./shown-items.js";

const reasonOf = (events: readonly unknown[]) => thrownFault(() => readCohere(events)).reason;

const said = (text: string, ...annotations: readonly unknown[]) => shownMessage(shownPart(text, ...annotations));
const itemsOf = (events: readonly unknown[]) => maskIds(readCohere(events).items);
const streamOf = (...events: readonly unknown[]) => [cohereStart, ...events, cohereEnd()];

describe("the content of a Cohere answer", () => {
  test("has a plan as a text, in a stream and whole", () => {
    const items = [said("I will check."), shownCall("now", "{}")];
    const events = [...coherePlan("I will", " check."), ...cohereCall(0, "now", "{}")];
    expect(itemsOf([cohereStart, ...events, cohereEnd("TOOL_CALL")])).toEqual(items);
    const message = { tool_plan: "I will check.", tool_calls: [wholeCohereCall(0, "now", "{}")] };
    expect(itemsOf([wholeCohere(message, { finish_reason: "TOOL_CALL" })])).toEqual(items);
  });

  test("has consecutive texts as one message, and reasoning in its blocks", () => {
    const blocks = [
      ...cohereThoughtBlock(0, "a"),
      ...cohereThoughtBlock(1, "b"),
      ...cohereTextBlock(2, "c"),
      ...cohereTextBlock(3, "d"),
    ];
    const items = [shownThought("a"), shownThought("b"), said("cd")];
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

  test("may begin a block with text, or without a beginning", () => {
    expect(itemsOf(streamOf(cohereBlockStart(0, { type: "text", text: "a" }), cohereDelta(0, { text: "b" })))).toEqual([
      said("ab"),
    ]);
    expect(itemsOf([cohereDelta(0, { thinking: "t" }), cohereDelta(1, { text: "b" }), cohereEnd()])).toEqual([
      shownThought("t"),
      said("b"),
    ]);
  });

  test("has no item for an empty block, after which reasoning is cut off", () => {
    expect(readCohere(streamOf()).items).toEqual([]);
    expect(readCohere([wholeCohere({})]).items).toEqual([]);
    const blocks = [...cohereThoughtBlock(0, "Hm"), ...cohereTextBlock(1, ""), ...cohereThoughtBlock(2, "")];
    expect(itemsOf([cohereStart, ...blocks, cohereEnd("MAX_TOKENS")])).toEqual([
      shownThought("Hm", { status: "incomplete" }),
    ]);
  });

  test("is read from events by their names too, and unknown events are skipped", () => {
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

describe("calls in a Cohere answer", () => {
  test.each([
    ["nothing", []],
    ["null", ["null"]],
    ["null in pieces", ["nu", "ll"]],
  ])("of a tool without parameters have the arguments: %s", (_, pieces) => {
    expect(itemsOf(streamOf(...cohereCall(0, "f", ...pieces)))).toEqual([shownCall("f", "{}")]);
    expect(itemsOf([wholeCohere({ tool_calls: [wholeCohereCall(0, "f", pieces.join(""))] })])).toEqual([
      shownCall("f", "{}"),
    ]);
  });

  test("keep white space before the arguments, and have null as an empty input of a custom tool", () => {
    expect(itemsOf(streamOf(...cohereCall(0, "f", " ", '{"a":1}')))).toEqual([shownCall("f", ' {"a":1}')]);
    const tools = [{ type: "custom", name: "sql", json: "{}" } as const];
    expect(readCohere(streamOf(...cohereCall(0, "sql", "null")), { tools }).items[0]?.input).toBe("");
  });

  test("may begin with arguments, and end with the next call", () => {
    const events = streamOf(cohereCallStart(0, "f", '{"a"'), cohereCallDelta(0, ":1}"), cohereCallStart(1, "g"));
    expect(itemsOf(events)).toEqual([shownCall("f", '{"a":1}'), shownCall("g", "{}")]);
  });

  test("may have arguments as an object, as at compatible servers", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: { a: 1 } } };
    expect(itemsOf([wholeCohere({ tool_calls: [call] })])).toEqual([shownCall("f", '{"a":1}')]);
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
  ])("with %s fail the answer", (_, events) => {
    expect(reasonOf(streamOf(...events))).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("citations in a Cohere answer", () => {
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

  test("of a tool's output may come after the text's end, too", () => {
    const source = { type: "tool", id: "f_0:0", tool_output: { url, text: "…" } };
    const cited = citation(0, 1, "a", { sources: [source, { type: "tool", tool_output: { text: "…" } }] });
    expect(itemsOf(streamOf(...cohereTextBlock(0, "ab"), ...cohereCitation(0, cited)))).toEqual([
      said("ab", annotation(0, 1, "")),
    ]);
  });

  test("are placed by their block, or by a search of the text", () => {
    const blocks = [...cohereThoughtBlock(0, "t"), ...cohereTextBlock(1, "☕xz"), ...cohereTextBlock(2, "yz")];
    const places = (cited: object) =>
      readCohere(streamOf(...blocks, ...cohereCitation(0, cited))).items[1] as ReturnType<typeof said>;
    expect(places(citation(1, 2, "z", { content_index: 2 })).content[0]?.annotations).toEqual([annotation(4, 5)]);
    expect(places(citation(9, 12, "x")).content[0]?.annotations).toEqual([annotation(1, 2)]);
    expect(places(citation(9, 12, "not there")).content[0]?.annotations).toEqual([annotation(0, 5)]);
    expect(places({ sources: [document] }).content[0]?.annotations).toEqual([annotation(0, 5)]);
  });

  test("in a whole answer belong to the block that they name, or else to the last text", () => {
    const content = [
      { type: "text", text: "ab" },
      { type: "thinking", thinking: "t" },
      { type: "text", text: "ac" },
    ];
    const cited = (citations: unknown) => itemsOf([wholeCohere({ content, citations })]);
    const [first, last] = [citation(0, 1, "a", { content_index: 0 }), citation(0, 1, "a")];
    expect(cited([first])).toEqual([said("ab", annotation(0, 1)), shownThought("t"), said("ac")]);
    const items = [said("ab"), shownThought("t"), said("ac", annotation(0, 1))];
    for (const content_index of [undefined, 1, 7, "x"]) expect(cited([{ ...last, content_index }])).toEqual(items);
    expect(itemsOf([wholeCohere({ content: "a", citations: [last] })])).toEqual([said("a", annotation(0, 1))]);
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
  ])("with %s are left out", (_, cited) => {
    expect(itemsOf(streamOf(...cohereTextBlock(0, "a"), ...cohereCitation(0, cited as object)))).toEqual([said("a")]);
  });
});

describe("the end of a Cohere answer", () => {
  test("is a failure without a reason or with an error", () => {
    expect(reasonOf([...cohereTextBlock(0, "Hi"), { type: "message-end" }])).toBe(FaultReason.PROVIDER_FAILED);
    expect(reasonOf([wholeCohere({ content: [] }, { finish_reason: null })])).toBe(FaultReason.PROVIDER_FAILED);
    const error = "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.";
    expect(reasonOf([cohereEnd("ERROR", { error })])).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    expect(reasonOf([cohereEnd("COMPLETE", { error: "it broke" })])).toBe(FaultReason.PROVIDER_FAILED);
  });
});

describe("token counts of a Cohere answer", () => {
  const none = { inputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };

  test("are the billed ones, and unbilled input counts as cached first", () => {
    const tokens = { input_tokens: 913, output_tokens: 83 };
    const billed_units = { input_tokens: 37, output_tokens: 28 };
    expect(cohereUsage({ billed_units, tokens })).toEqual({ ...none, inputTokens: 37, outputTokens: 28 });
    expect(cohereUsage({ billed_units, tokens, cached_tokens: 800 })?.cachedTokens).toBe(0);
    expect(cohereUsage({ billed_units, tokens, cached_tokens: 896 })?.cachedTokens).toBe(20);
    expect(cohereUsage({ billed_units, tokens, cached_tokens: 9_999 })?.cachedTokens).toBe(37);
  });

  test("are the model's input and output tokens without billed units", () => {
    const tokens = { input_tokens: 71, output_tokens: 26 };
    const usage = { ...none, inputTokens: 71, outputTokens: 26 };
    expect(cohereUsage({ tokens })).toEqual(usage);
    expect(cohereUsage({ tokens, billed_units: { input_tokens: 0, output_tokens: 0 } })).toEqual(usage);
    expect(cohereUsage({ tokens, cached_tokens: 30 })?.cachedTokens).toBe(30);
  });

  test("are zero when they are impossible, and unknown when they are missing", () => {
    expect(cohereUsage({ billed_units: 7, tokens: { input_tokens: -5, output_tokens: "x" } })).toEqual(none);
    expect(cohereUsage(undefined)).toBeUndefined();
  });

  test("are given for a failed answer, too", () => {
    const translator = new CohereTranslator(testRequest(), cohereTarget, () => undefined);
    thrownFault(() => translator.event(undefined, JSON.stringify(cohereEnd("ERROR"))));
    expect(translator.usage).toEqual({ ...none, inputTokens: 5, outputTokens: 26 });
  });
});

// https://docs.cohere.com/reference/errors
describe("errors of Cohere", () => {
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
  ])("with status %i give the error %s", (status, message, reason) => {
    const error = cohereError(status, { message, id: "8268c123" });
    expect([providerFault(error).reason, error.message]).toEqual([reason, message]);
  });

  test("from clouds, from proxies, and without a body keep their meaning", () => {
    const nested = cohereError(400, { error: { code: "bad_input", message: "Why" } });
    expect(nested).toEqual({ status: 400, code: "bad_input", message: "Why" });
    expect(cohereError(400, { error: "Why" }).message).toBe("Why");
    expect(cohereError(422, { detail: "Why" }).message).toBe("Why");
    expect(providerFault(cohereError(503, undefined)).reason).toBe(FaultReason.PROVIDER_FAILED);
  });
});
