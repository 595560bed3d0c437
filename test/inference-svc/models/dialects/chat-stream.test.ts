/** Answers of OpenAI-compatible servers in all their variants, as output items. */
import { describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ChatTranslator } from "@sluice/inference-svc/models/upstream/chat/stream.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { chatChunk } from "../../../support/providers/upstream.js";
import { testRequest, itemsOf, maskIds } from "../../asking.js";

const target = { upstreamModel: "large-2", tier: "default", original: false };

interface Read {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

function read(chunks: readonly unknown[], request: Partial<TurnRequest> = {}): Read {
  const events: TurnEvent[] = [];
  const translator = new ChatTranslator(testRequest(request), target, (event) => events.push(event));
  for (const chunk of chunks) translator.event(undefined, JSON.stringify(chunk));
  translator.close();
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events, items: itemsOf(events), outcome: end.outcome };
}

const faultOf = (act: () => unknown): Fault => {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
};

const message = (...content: unknown[]) => ({
  type: "message",
  id: "masked",
  role: "assistant",
  status: "completed",
  content,
});
const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const call = (name: string, json: string) => ({
  type: "function_call",
  id: "masked",
  call_id: "masked",
  name,
  arguments: json,
  status: "completed",
});
const reasoning = (text: string) => ({
  type: "reasoning",
  id: "masked",
  status: "completed",
  summary: [],
  content: [{ type: "reasoning_text", text }],
  format: "unknown",
  signature: null,
});
const toolCall = (index: number, id?: string, name?: string, json?: unknown) => ({
  tool_calls: [{ index, ...(id && { id }), type: "function", function: { ...(name && { name }), arguments: json } }],
});
const stop = chatChunk({}, "stop");

describe("text", () => {
  test("deltas and a whole answer give the same item", () => {
    const streamed = read([
      chatChunk({ role: "assistant", content: "" }),
      chatChunk({ content: "One, " }),
      chatChunk({ content: "two." }),
      stop,
    ]);
    const whole = read([
      { choices: [{ index: 0, message: { role: "assistant", content: "One, two." }, finish_reason: "stop" }] },
    ]);
    expect(maskIds(streamed.items)).toEqual([message(textPart("One, two."))]);
    expect(maskIds(whole.items)).toEqual(maskIds(streamed.items));
    expect(streamed.events.map((event) => event.type)).toEqual([
      "item.start",
      "text.delta",
      "text.delta",
      "item.end",
      "end",
    ]);
  });

  test("role-only chunks, null fields and empty contents give no events", () => {
    const nulls = { content: null, refusal: null, reasoning_content: null, tool_calls: null, function_call: null };
    const { items } = read([
      chatChunk({ role: "assistant", ...nulls }),
      chatChunk({ content: "" }),
      chatChunk({ content: "Hi", tool_calls: [] }),
      chatChunk(nulls, "stop", { error: null, usage: null }),
    ]);
    expect(maskIds(items)).toEqual([message(textPart("Hi"))]);
  });

  test("a finish reason may be in the chunk with content, or in every chunk", () => {
    const { items, outcome } = read([chatChunk({ content: "a" }, "stop"), chatChunk({ content: "b" }, "stop")]);
    expect(maskIds(items)).toEqual([message(textPart("ab"))]);
    expect(outcome.status).toBe("completed");
  });

  test("a content of parts", () => {
    expect(maskIds(read([chatChunk({ content: [{ type: "text", text: "Hi" }] }), stop]).items)).toEqual([
      message(textPart("Hi")),
    ]);
  });

  test("citations become annotations of the part", () => {
    const citation = {
      type: "url_citation",
      url_citation: { url: "https://a.example/", title: "A", start_index: 0, end_index: 2 },
    };
    const { items, events } = read([chatChunk({ content: "Hi" }), chatChunk({ annotations: [citation] }), stop]);
    const flat = { type: "url_citation", url: "https://a.example/", title: "A", start_index: 0, end_index: 2 };
    expect(maskIds(items)).toEqual([message({ ...textPart("Hi"), annotations: [flat] })]);
    expect(events).toContainEqual({ type: "annotation", index: 0, part: 0, annotation: flat });
  });

  test("log probabilities come only on request", () => {
    const logprobs = { content: [{ token: "Hi", logprob: -0.1, bytes: [72, 105], top_logprobs: [] }] };
    const chunk = { choices: [{ index: 0, delta: { content: "Hi" }, logprobs, finish_reason: "stop" }] };
    expect(JSON.stringify(read([chunk]).events)).not.toContain("-0.1");
    const { events, items } = read([chunk], { topLogprobs: 2 });
    expect(events).toContainEqual({
      type: "text.delta",
      index: 0,
      part: 0,
      delta: "Hi",
      logprobsJson: JSON.stringify(logprobs.content),
    });
    expect(maskIds(items)).toEqual([message({ ...textPart("Hi"), logprobs: logprobs.content })]);
  });

  test("other choices are not mixed in", () => {
    const { items } = read([
      {
        choices: [
          { index: 1, delta: { content: "no" } },
          { index: 0, delta: { content: "yes" }, finish_reason: "stop" },
        ],
      },
    ]);
    expect(maskIds(items)).toEqual([message(textPart("yes"))]);
  });
});

describe("refusal and reasoning", () => {
  test("a refusal is a separate part", () => {
    const { items } = read([chatChunk({ refusal: "I cannot " }), chatChunk({ refusal: "help." }), stop]);
    expect(maskIds(items)).toEqual([message({ type: "refusal", refusal: "I cannot help." })]);
  });

  test.each(["reasoning_content", "reasoning"])("%s precedes the message as an item", (field) => {
    const { items, events } = read([
      chatChunk({ [field]: "Hm, " }),
      chatChunk({ [field]: "91." }),
      chatChunk({ content: "No." }),
      stop,
    ]);
    expect(maskIds(items)).toEqual([reasoning("Hm, 91."), message(textPart("No."))]);
    expect(events.map((event) => event.type)).toEqual([
      "item.start",
      "reasoning.delta",
      "reasoning.delta",
      "item.end",
      "item.start",
      "text.delta",
      "item.end",
      "end",
    ]);
  });

  test("both fields with the same text count once", () => {
    expect(maskIds(read([chatChunk({ reasoning: "Hm", reasoning_content: "Hm" }), stop]).items)).toEqual([
      reasoning("Hm"),
    ]);
  });
});

describe("reasoning in details", () => {
  const details = (...reasoning_details: object[]) => chatChunk({ reasoning_details, reasoning: "twice" });
  const thought = { type: "reasoning.text", text: "Hm", format: "anthropic-claude-v1", index: 0 };
  const claude = { format: "anthropic-claude-v1" };

  test("text and summary count once, format and signature stay with the item", () => {
    const { items } = read([
      details({ type: "reasoning.summary", summary: "Short.", ...claude }),
      details(thought),
      chatChunk({ reasoning_details: [{ type: "reasoning.text", signature: "sig", ...claude }] }),
      chatChunk({ content: "No." }),
      stop,
    ]);
    expect(maskIds(items)).toEqual([
      { ...reasoning("Hm"), ...claude, summary: [{ type: "summary_text", text: "Short." }], signature: "sig" },
      message(textPart("No.")),
    ]);
  });

  test("without text, the plain reasoning field counts", () => {
    expect(maskIds(read([details(), stop]).items)).toEqual([reasoning("twice")]);
  });

  test("sealed text comes only on request, with format unknown for an unknown format", () => {
    const chunks = [details(thought, { type: "reasoning.encrypted", data: "e", format: "new-v9" }), stop];
    expect(read(chunks).items[0]).not.toHaveProperty("encrypted_content");
    const asked = read(chunks, { include: ["reasoning.encrypted_content"] }).items;
    expect(asked).toMatchObject([{ encrypted_content: "e", format: "unknown", content: [{ text: "Hm" }] }]);
  });

  test("a seal after the end of the reasoning is ignored", () => {
    const late = chatChunk({ reasoning_details: [{ type: "reasoning.text", signature: "sig" }] });
    expect(maskIds(read([chatChunk({ content: "Hi" }), late, stop]).items)).toEqual([message(textPart("Hi"))]);
  });
});

describe("other outputs", () => {
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  const drawn = (result: string) => ({ type: "image_generation_call", id: "masked", status: "completed", result });

  test.each([
    ["data:image/png;base64,QUJD", "QUJD"],
    ["https://a.example/b.png", "https://a.example/b.png"],
  ])("an image %s is an item", (url, result) => {
    const { items } = read([chatChunk({ content: "Here:" }), chatChunk({ images: [image(url), image("")] }), stop]);
    expect(maskIds(items)).toEqual([message(textPart("Here:")), drawn(result)]);
  });

  test("speech is given as its transcript", () => {
    const { items } = read([
      chatChunk({ audio: { id: "a", transcript: "Hel" } }),
      chatChunk({ audio: { transcript: "lo", data: "QUJD" } }),
      stop,
    ]);
    expect(maskIds(items)).toEqual([message(textPart("Hello"))]);
  });
});

describe("tool calls", () => {
  test("in pieces, two of them, after text, are items", () => {
    const { items, events } = read([
      chatChunk({ content: "Checking." }),
      chatChunk(toolCall(0, "call_a", "get_weather", "")),
      chatChunk(toolCall(0, undefined, undefined, '{"town":')),
      chatChunk(toolCall(0, undefined, undefined, '"Oslo"}')),
      chatChunk(toolCall(1, "call_b", "get_weather", '{"town":"Rome"}')),
      chatChunk({}, "tool_calls"),
    ]);
    expect(maskIds(items)).toEqual([
      message(textPart("Checking.")),
      call("get_weather", '{"town":"Oslo"}'),
      call("get_weather", '{"town":"Rome"}'),
    ]);
    expect(items.map((item) => item.call_id)).toEqual([undefined, "call_a", "call_b"]);
    // The first has ended before the second begins.
    const order = events.flatMap((event) =>
      event.type.startsWith("item.") ? [`${event.type} ${"index" in event ? event.index : ""}`] : [],
    );
    expect(order).toEqual(["item.start 0", "item.end 0", "item.start 1", "item.end 1", "item.start 2", "item.end 2"]);
  });

  test("interleaved calls are given one after the other", () => {
    const { items, events } = read([
      chatChunk(toolCall(0, "a", "f", '{"x":')),
      chatChunk(toolCall(1, "b", "g", '{"y":')),
      chatChunk(toolCall(0, undefined, undefined, "1}")),
      chatChunk(toolCall(1, undefined, undefined, "2}")),
      chatChunk({}, "tool_calls"),
    ]);
    expect(maskIds(items)).toEqual([call("f", '{"x":1}'), call("g", '{"y":2}')]);
    // SDKs of Python, Go and LangChain take a call as whole once another one begins.
    const order = events.flatMap((event) =>
      "index" in event && event.index !== undefined ? [`${event.index} ${event.type}`] : [],
    );
    expect(order).toEqual(order.toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10)));
  });

  test("interleaved calls cut by a limit are completed if finished, except the last", () => {
    const answer = (last: string) =>
      read([
        chatChunk(toolCall(0, "a", "f", '{"x":')),
        chatChunk(toolCall(1, "b", "g", '{"y":')),
        chatChunk(toolCall(0, undefined, undefined, "1}")),
        chatChunk(toolCall(1, undefined, undefined, last)),
        chatChunk({}, "length"),
      ]).items.map((item) => [item.arguments, item.status]);
    for (const last of ["2", "2}"]) {
      expect(answer(last)).toEqual([
        ['{"x":1}', "completed"],
        [`{"y":${last}`, "incomplete"],
      ]);
    }
  });

  test("whole calls all numbered 0, as by some servers, are separate items", () => {
    const { items } = read([
      chatChunk(toolCall(0, "a", "f", "{}")),
      chatChunk(toolCall(0, "b", "g", '{"y":2}')),
      chatChunk({}, "tool_calls"),
    ]);
    expect(items.map((item) => [item.call_id, item.name, item.arguments])).toEqual([
      ["a", "f", "{}"],
      ["b", "g", '{"y":2}'],
    ]);
  });

  test.each<[string, readonly [id: string | undefined, name: string | undefined, args: string][], readonly string[]]>([
    [
      "an empty object before the arguments",
      [
        ["a", "f", "{}"],
        [undefined, undefined, '{"x":'],
        [undefined, undefined, "1}"],
      ],
      ['{"x":1}'],
    ],
    ["an empty object alone", [["a", "f", "{}"]], ["{}"]],
    [
      "an empty object in pieces",
      [
        ["a", "f", "{"],
        [undefined, undefined, "}"],
      ],
      ["{}"],
    ],
    [
      "the whole arguments once more",
      [
        ["a", "f", '{"x":'],
        ["a", undefined, "1}"],
        ["a", "f", '{"x":1}'],
      ],
      ['{"x":1}'],
    ],
    [
      "the whole arguments once more without an id",
      [
        ["a", "f", '{"x":1}'],
        [undefined, undefined, '{"x":1}'],
      ],
      ['{"x":1}'],
    ],
    [
      "two calls with one index and one id",
      [
        ["a", "f", '{"x":1}'],
        ["a", "f", '{"x":2}'],
      ],
      ['{"x":1}', '{"x":2}'],
    ],
    [
      "equal calls without an id",
      [
        [undefined, "f", '{"x":1}'],
        [undefined, "f", '{"x":1}'],
      ],
      ['{"x":1}', '{"x":1}'],
    ],
    [
      "calls without arguments and without an id",
      [
        [undefined, "f", "{}"],
        [undefined, "f", "{}"],
      ],
      ["{}", "{}"],
    ],
    [
      "an entry with nothing in it",
      [
        [undefined, "", ""],
        ["a", "f", '{"x":1}'],
      ],
      ['{"x":1}'],
    ],
  ])("numbered 0: %s", (_, pieces, expected) => {
    const { items } = read([...pieces.map((piece) => chatChunk(toolCall(0, ...piece))), chatChunk({}, "tool_calls")]);
    expect(items.map((item) => item.arguments)).toEqual(expected);
    expect(new Set(items.map((item) => item.call_id)).size).toBe(expected.length);
  });

  test("without an index, with id and name in every chunk, are items", () => {
    const piece = (id: string, json: string) =>
      chatChunk({ tool_calls: [{ id, function: { name: "f", arguments: json } }] });
    const { items } = read([piece("a", '{"x":'), piece("a", "1}"), piece("b", "{}"), chatChunk({}, "tool_calls")]);
    expect(items.map((item) => [item.call_id, item.name, item.arguments])).toEqual([
      ["a", "f", '{"x":1}'],
      ["b", "f", "{}"],
    ]);
  });

  test("without an id, with arguments as an object or none, are items", () => {
    const { items } = read([
      chatChunk(toolCall(0, undefined, "f", { x: 1 })),
      chatChunk(toolCall(1, undefined, "g", null)),
      chatChunk({}, "stop"),
    ]);
    expect(maskIds(items)).toEqual([call("f", '{"x":1}'), call("g", "{}")]);
    expect(items[0]?.call_id).toMatch(/^call_[0-9A-Za-z]{22}$/);
    expect(items[0]?.call_id).not.toBe(items[1]?.call_id);
  });

  test("with arguments before the name are items", () => {
    const { items } = read([
      chatChunk(toolCall(0, "a", undefined, '{"x"')),
      chatChunk(toolCall(0, undefined, "f", ":1}")),
      chatChunk({}, "tool_calls"),
    ]);
    expect(maskIds(items)).toEqual([call("f", '{"x":1}')]);
  });

  test("the old form", () => {
    const { items } = read([
      chatChunk({ function_call: { name: "f", arguments: "{" } }),
      chatChunk({ function_call: { arguments: "}" } }),
      chatChunk({}, "function_call"),
    ]);
    expect(maskIds(items)).toEqual([call("f", "{}")]);
  });

  test("without a name make the answer invalid", () => {
    expect(
      faultOf(() => read([chatChunk(toolCall(0, "a", undefined, "{}")), chatChunk({}, "tool_calls")])).reason,
    ).toBe(FaultReason.PROVIDER_FAILED);
  });

  test("with arguments other than JSON pass unchanged", () => {
    expect(
      maskIds(read([chatChunk(toolCall(0, "a", "f", '{"a":1,"a":2')), chatChunk({}, "tool_calls")]).items),
    ).toEqual([call("f", '{"a":1,"a":2')]);
  });
});

describe("the end", () => {
  test("length cuts the last item", () => {
    const { items, outcome } = read([
      chatChunk({ reasoning: "Hm" }),
      chatChunk({ content: "Once" }),
      chatChunk({}, "length"),
    ]);
    expect(outcome).toEqual({ status: "incomplete", reason: "max_output_tokens", serviceTier: "default" });
    expect(items.map((item) => item.status)).toEqual(["completed", "incomplete"]);
  });

  test("length in the middle of a call", () => {
    const { items } = read([chatChunk(toolCall(0, "a", "f", '{"x":')), chatChunk({}, "length")]);
    expect(items.map((item) => [item.status, item.arguments])).toEqual([["incomplete", '{"x":']]);
  });

  test("content_filter", () => {
    expect(read([chatChunk({ content: "On" }), chatChunk({}, "content_filter")]).outcome).toMatchObject({
      status: "incomplete",
      reason: "content_filter",
    });
  });

  test("figures after the finish, in the form of each vendor", () => {
    const usage = {
      prompt_tokens: 61,
      completion_tokens: 38,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 19 },
    };
    const { outcome } = read([chatChunk({ content: "a" }), stop, { choices: [], usage, service_tier: "flex" }]);
    expect(outcome).toEqual({
      status: "completed",
      serviceTier: "flex",
      usage: { inputTokens: 61, cachedTokens: 5, cacheWriteTokens: 0, outputTokens: 38, reasoningTokens: 19 },
    });
  });

  test.each([
    [{ prompt_tokens: -5, completion_tokens: 1e300 }, 0, 0],
    [{ prompt_tokens: 100_000_000, completion_tokens: 100_000_001 }, 100_000_000, 0],
    [{ prompt_tokens: "12", completion_tokens: "x" }, 12, 0],
    [{ prompt_tokens: null, completion_tokens: 2.9 }, 0, 2],
    [{ prompt_tokens: {}, completion_tokens: Number.NaN }, 0, 0],
  ])("impossible figures %j are none", (usage, inputTokens, outputTokens) => {
    expect(read([stop, { choices: [], usage }]).outcome.usage).toMatchObject({ inputTokens, outputTokens });
  });

  test("details above their sum pass to the bill, which limits them", () => {
    const usage = {
      prompt_tokens: 3,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 9 },
      completion_tokens_details: { reasoning_tokens: 9 },
    };
    expect(read([stop, { choices: [], usage }]).outcome.usage).toMatchObject({ cachedTokens: 9, reasoningTokens: 9 });
  });

  test("without a finish reason it is never success", () => {
    const fault = faultOf(() => read([chatChunk({ content: "Half an ans" })]));
    expect([fault.reason, fault.message]).toEqual([FaultReason.PROVIDER_FAILED, "Provider connection lost"]);
  });

  test.each([
    [{ error: { message: "Overloaded", code: 529 } }, FaultReason.PROVIDER_OVERLOADED],
    [{ error: { message: "slow down", code: "rate_limit_exceeded" } }, FaultReason.RATE_LIMITED],
    [{ error: { message: "boom" }, choices: [] }, FaultReason.PROVIDER_FAILED],
    [{ error: "boom" }, FaultReason.PROVIDER_FAILED],
    [
      { choices: [{ index: 0, error: { code: 502, message: "bad" }, finish_reason: "error" }] },
      FaultReason.PROVIDER_FAILED,
    ],
    [chatChunk({}, "error"), FaultReason.PROVIDER_FAILED],
    ["text", FaultReason.PROVIDER_FAILED],
    [[], FaultReason.PROVIDER_FAILED],
  ])("error or nonsense %j", (chunk, reason) => {
    expect(faultOf(() => read([chunk])).reason).toBe(reason);
  });
});
