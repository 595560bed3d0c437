/** Answers of Responses servers, in order and out of order, as output items. */
import { describe, expect, test } from "@jest/globals";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import {
  itemAddedEvent,
  completedEvent,
  itemDoneEvent,
  messageItem,
  openedMessage,
  readGuarded,
  textDelta,
} from "../../features/guardrails/reading.js";

const reasonOf = (events: readonly unknown[]): [FaultReason, string] => {
  try {
    readGuarded(events);
  } catch (error) {
    if (error instanceof Fault) return [error.reason, error.message];
    throw error;
  }
  throw new Error("nothing was thrown");
};

describe("items of a Responses stream", () => {
  test("close gaps in the provider's numbers, in the order of their beginnings", () => {
    const { items, events } = readGuarded([
      itemAddedEvent(4, openedMessage("b")),
      textDelta(4, "B"),
      itemDoneEvent(4, messageItem("b", "B")),
      itemAddedEvent(1, openedMessage("a")),
      textDelta(1, "A"),
      itemDoneEvent(1, messageItem("a", "A")),
      completedEvent([messageItem("a", "A"), messageItem("b", "B")]),
    ]);
    expect(items).toEqual([messageItem("b", "B"), messageItem("a", "A")]);
    expect(events.filter((event) => event.type === "item.start").map((event) => event.index)).toEqual([0, 1]);
  });

  test("that are unfinished are finished by the terminal response", () => {
    const { items, events } = readGuarded([
      itemAddedEvent(0, openedMessage("a")),
      textDelta(0, "Hal"),
      completedEvent([messageItem("a", "Half")]),
    ]);
    expect(items).toEqual([messageItem("a", "Half")]);
    expect(events).toContainEqual({ type: "text.delta", index: 0, part: 0, delta: "f" });
  });

  test("without a beginning come with all their deltas", () => {
    const { items, events } = readGuarded([completedEvent([messageItem("a", "One", "Two")])]);
    expect(items).toEqual([messageItem("a", "One", "Two")]);
    expect(events.map((event) => event.type)).toEqual(["item.start", "text.delta", "text.delta", "item.end", "end"]);
  });

  test("have the streamed text if neither the item nor the terminal response has any", () => {
    expect(readGuarded([itemAddedEvent(0, openedMessage("a")), textDelta(0, "Hi"), completedEvent([])]).items).toEqual([
      messageItem("a", "Hi"),
    ]);
  });

  test("that are unfinished are finished by their ids, in any order of the terminal response", () => {
    const call = (id: string, args: string, status = "completed") => ({
      type: "function_call",
      id,
      call_id: `c_${id}`,
      name: "f",
      arguments: args,
      status,
    });
    const begun = ["a", "b"].map((id, index) => itemAddedEvent(index, call(id, "", "in_progress")));
    const [first, second] = [call("a", '{"x":1}'), call("b", '{"y":2}')];
    expect(readGuarded([...begun, completedEvent([second, first])]).items).toEqual([first, second]);
  });

  test("are not doubled by another id in the terminal response", () => {
    const { items } = readGuarded([
      itemAddedEvent(0, openedMessage("a")),
      textDelta(0, "Hi"),
      completedEvent([messageItem("other", "Hi")]),
    ]);
    expect(items).toEqual([messageItem("a", "Hi")]);
  });

  test("begin with a delta when they are not announced", () => {
    expect(readGuarded([textDelta(0, "Hi"), completedEvent([messageItem("a", "Hi")])]).items).toMatchObject([
      { type: "message", content: [{ text: "Hi" }] },
    ]);
  });

  test.each([
    ["the terminal response", [completedEvent([messageItem("a", "Hello you")])]],
    [
      "the finished item, without a number",
      [{ type: "response.output_item.done", item: messageItem("a", "Hello you") }, completedEvent([])],
    ],
    ["nothing but the end", [completedEvent([])]],
  ])("are one for deltas without a number and an id, followed by %s", (_, end) => {
    const bare = (type: string, more: object) => ({ type: `response.${type}`, ...more });
    const { items, events } = readGuarded([
      bare("reasoning_text.delta", { delta: "A gre" }),
      bare("reasoning_text.delta", { delta: "eting." }),
      bare("output_text.delta", { delta: "Hello " }),
      bare("output_text.delta", { delta: "you" }),
      bare("output_text.done", { text: "Hello you" }),
      ...end,
    ]);
    expect(items).toMatchObject([
      { type: "reasoning", content: [{ text: "A greeting." }] },
      { type: "message", content: [{ text: "Hello you" }] },
    ]);
    expect(events.filter(({ type }) => type === "item.start")).toHaveLength(2);
  });

  test("get arguments without a number and an id for the call that is open", () => {
    const call = { type: "function_call", id: "f1", call_id: "c1", name: "f", arguments: "", status: "in_progress" };
    const { items } = readGuarded([
      itemAddedEvent(0, call),
      { type: "response.function_call_arguments.delta", delta: '{"x":' },
      { type: "response.function_call_arguments.delta", delta: "1}" },
      completedEvent([]),
    ]);
    expect(items).toMatchObject([{ call_id: "c1", arguments: '{"x":1}', status: "completed" }]);
  });

  test("get no arguments without a number and an id while two calls are open", () => {
    const call = (id: string, json: string) => ({
      type: "function_call",
      id,
      call_id: `c${id}`,
      name: "f",
      arguments: json,
    });
    const { items } = readGuarded([
      itemAddedEvent(0, call("a", "")),
      itemAddedEvent(1, call("b", "")),
      { type: "response.function_call_arguments.delta", delta: '{"x":1}' },
      { type: "response.output_item.done", output_index: 0, item: call("a", '{"x":1}') },
      { type: "response.output_item.done", output_index: 1, item: call("b", '{"y":2}') },
      completedEvent([]),
    ]);
    expect(items.map((item) => [item.call_id, item.arguments])).toEqual([
      ["ca", '{"x":1}'],
      ["cb", '{"y":2}'],
    ]);
  });

  test("may have a number and an id of null", () => {
    const delta = (text: string) => ({
      type: "response.output_text.delta",
      output_index: null,
      item_id: null,
      delta: text,
    });
    const { items } = readGuarded([
      delta("Hello "),
      delta("you"),
      { type: "response.output_item.done", output_index: 0, item: messageItem("a", "Hello you") },
      completedEvent([]),
    ]);
    expect(items).toMatchObject([{ type: "message", content: [{ text: "Hello you" }] }]);
    expect(items).toHaveLength(1);
  });

  test("keep their deltas when the finished text differs", () => {
    expect(
      readGuarded([
        itemAddedEvent(0, openedMessage("a")),
        textDelta(0, "Hello"),
        itemDoneEvent(0, messageItem("a", "Goodbye")),
        completedEvent([messageItem("a", "Goodbye")]),
      ]).items,
    ).toEqual([messageItem("a", "Hello")]);
  });

  test("keep unknown fields", () => {
    const item = { ...messageItem("a", "Hi"), phase: "final_answer" };
    const { items, events } = readGuarded([
      itemAddedEvent(0, { ...openedMessage("a"), phase: "final_answer" }),
      itemDoneEvent(0, item),
      completedEvent([item]),
    ]);
    expect(items).toEqual([item]);
    expect(events[0]).toEqual({ type: "item.start", index: 0, item: { ...openedMessage("a"), phase: "final_answer" } });
  });

  test("have annotations from an event or from the item", () => {
    const citation = (url: string) => ({ type: "url_citation", url, title: "", start_index: 0, end_index: 1 });
    const item = messageItem("a", "Hi");
    const content = [
      { ...item.content[0], annotations: [citation("https://a.example/"), citation("https://b.example/")] },
    ];
    const { items, events } = readGuarded([
      itemAddedEvent(0, openedMessage("a")),
      textDelta(0, "Hi"),
      {
        type: "response.output_text.annotation.added",
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: citation("https://a.example/"),
      },
      itemDoneEvent(0, { ...item, content }),
      completedEvent([]),
    ]);
    expect(items).toEqual([{ ...item, content }]);
    expect(events.filter((event) => event.type === "annotation")).toHaveLength(2);
  });

  test("have log probabilities only on request", () => {
    const logprobs = [{ token: "Hi", logprob: -0.1, bytes: [], top_logprobs: [] }];
    const events = [
      itemAddedEvent(0, openedMessage("a")),
      { ...textDelta(0, "Hi"), logprobs },
      itemDoneEvent(0, messageItem("a", "Hi")),
      completedEvent([]),
    ];
    expect(JSON.stringify(readGuarded(events).events)).not.toContain("-0.1");
    expect(readGuarded(events, { include: ["message.output_text.logprobs"] }).items).toEqual([
      { ...messageItem("a", "Hi"), content: [{ ...messageItem("a", "Hi").content[0], logprobs }] },
    ]);
  });

  test("include reasoning of Open Responses, with a format", () => {
    const item = {
      type: "reasoning",
      id: "r",
      status: "completed",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm" }],
      format: "xai-responses-v1",
      signature: "s",
    };
    const { items } = readGuarded([
      itemAddedEvent(0, { type: "reasoning", id: "r", summary: [] }),
      { type: "response.reasoning.delta", output_index: 0, content_index: 0, delta: "Hm" },
      itemDoneEvent(0, item),
      completedEvent([]),
    ]);
    expect(items).toEqual([item]);
  });
});

describe("repeated, late, early or missing events of a Responses provider", () => {
  const call = { type: "custom_tool_call", id: "x", call_id: "c", name: "f", input: "abc", status: "completed" };
  const running = { ...call, input: "", status: "in_progress" };
  const inputDelta = (more: object = {}) => ({
    type: "response.custom_tool_call_input.delta",
    output_index: 0,
    delta: "abc",
    ...more,
  });
  const typesOf = (events: readonly { readonly type: string }[]) => events.map((event) => event.type);
  const once = ["item.start", "arguments.delta", "item.end", "end"];

  test.each<[string, unknown[]]>([
    [
      "a text in its delta and in its end",
      [
        itemAddedEvent(0, running),
        inputDelta(),
        { type: "response.custom_tool_call_input.done", output_index: 0, input: "abc" },
        itemDoneEvent(0, call),
        completedEvent([call]),
      ],
    ],
    [
      "a text in its last event only",
      [
        itemAddedEvent(0, running),
        { type: "response.custom_tool_call_input.done", output_index: 0, input: "abc" },
        itemDoneEvent(0, {}),
        completedEvent([]),
      ],
    ],
    ["a text in its item only", [itemAddedEvent(0, running), itemDoneEvent(0, call), completedEvent([])]],
    [
      "a text in its announcement only",
      [itemAddedEvent(0, { ...running, input: "abc" }), itemDoneEvent(0, {}), completedEvent([])],
    ],
    ["an item that was not announced", [itemDoneEvent(0, call), completedEvent([])]],
    ["an item in the terminal response only", [completedEvent([call])]],
    [
      "an event before its item, by number",
      [inputDelta(), itemAddedEvent(0, running), itemDoneEvent(0, call), completedEvent([])],
    ],
    [
      "an event before its item, by id",
      [inputDelta({ output_index: undefined, item_id: "x" }), completedEvent([call])],
    ],
    [
      "an event after its item",
      [itemAddedEvent(0, running), itemDoneEvent(0, call), inputDelta(), completedEvent([call])],
    ],
    [
      "a beginning twice",
      [
        itemAddedEvent(0, running),
        inputDelta(),
        itemAddedEvent(0, running),
        itemDoneEvent(0, call),
        completedEvent([call]),
      ],
    ],
    ["a beginning after its end", [itemDoneEvent(0, call), itemAddedEvent(0, running), completedEvent([call])]],
    [
      "an end twice",
      [itemAddedEvent(0, running), itemDoneEvent(0, call), itemDoneEvent(0, call), completedEvent([call])],
    ],
    [
      "a status that was forgotten",
      [itemAddedEvent(0, running), itemDoneEvent(0, { ...call, status: "in_progress" }), completedEvent([])],
    ],
    [
      "an id that changes on the way",
      [
        itemAddedEvent(0, running),
        inputDelta({ item_id: "y" }),
        itemDoneEvent(0, { ...call, id: "y" }),
        completedEvent([{ ...call, id: "z" }]),
      ],
    ],
  ])("give one valid stream: %s", (_, events) => {
    const given = readGuarded(events);
    expect(given.items).toEqual([call]);
    expect(typesOf(given.events)).toEqual(once);
  });

  test("may have the number 0 for every item", () => {
    const second = { ...call, id: "x2", call_id: "c2" };
    const events = [
      itemAddedEvent(0, running),
      itemAddedEvent(0, { ...second, input: "" }),
      inputDelta({ item_id: "x" }),
      inputDelta({ item_id: "x2", delta: "abc" }),
      itemDoneEvent(0, call),
      itemDoneEvent(0, second),
      itemDoneEvent(0, messageItem("m", "Hi")),
      completedEvent([]),
    ];
    expect(readGuarded(events).items).toEqual([call, second, messageItem("m", "Hi")]);
  });

  test("are not part of the answer without their item", () => {
    const progress = { type: "response.web_search_call.searching", output_index: 7, item_id: "w" };
    expect(
      typesOf(readGuarded([progress, itemAddedEvent(0, running), itemDoneEvent(0, call), completedEvent([])]).events),
    ).toEqual(once);
  });

  test.each([
    "response.created",
    "response.in_progress",
    "response.queued",
    "response.content_part.added",
    "response.content_part.done",
    "response.reasoning_part.added",
    "response.reasoning_summary_part.done",
    "keepalive",
    "__proto__",
    "response.x\n",
    'response.a.b"',
    "response.A.b",
    "response.completed.",
    "codex.rate.limits",
  ])("like %j are not passed on", (type) => {
    const events = [
      itemAddedEvent(0, running),
      { type, output_index: 0, item_id: "x" },
      { type },
      itemDoneEvent(0, call),
      completedEvent([]),
    ];
    expect(typesOf(readGuarded(events).events)).toEqual(once);
  });

  test("of a part of an unknown kind keep its place", () => {
    const audio = { type: "output_audio", data: "AA", transcript: "Hi" };
    const [text] = messageItem("a", "One").content;
    const item = (...content: unknown[]) => ({ ...messageItem("a"), content });
    const streamed = [
      itemAddedEvent(0, openedMessage("a")),
      textDelta(0, "One"),
      itemDoneEvent(0, item(text, audio)),
      completedEvent([]),
    ];
    expect(readGuarded(streamed).items).toEqual([item(text, audio)]);
    expect(readGuarded([itemDoneEvent(0, item(audio, text)), completedEvent([])]).items).toEqual([item(audio, text)]);
  });
});

describe("the end of a Responses stream", () => {
  test.each<[string, unknown, FaultReason]>([
    [
      "failed",
      { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: "x" } } },
      FaultReason.PROVIDER_FAILED,
    ],
    [
      "rate limit",
      { type: "response.failed", response: { error: { code: "rate_limit_exceeded", message: "x" } } },
      FaultReason.RATE_LIMITED,
    ],
    ["flat error", { type: "error", code: "invalid_prompt", message: "x" }, FaultReason.INVALID_PROMPT],
    [
      "nested error",
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      FaultReason.PROVIDER_OVERLOADED,
    ],
    [
      "whole failed",
      { object: "response", status: "failed", error: { code: "server_error", message: "x" }, output: [] },
      FaultReason.PROVIDER_FAILED,
    ],
    ["error body in a 200", { error: { code: 429, message: "x" } }, FaultReason.RATE_LIMITED],
    [
      "an image that cannot be read",
      {
        type: "response.failed",
        response: { status: "failed", error: { code: "invalid_image_format", message: "x" } },
      },
      FaultReason.INVALID_REQUEST,
    ],
    [
      "a policy",
      { type: "response.failed", response: { error: { code: "image_content_policy_violation", message: "x" } } },
      FaultReason.CONTENT_POLICY,
    ],
    [
      "a store that is late",
      { type: "response.failed", response: { error: { code: "vector_store_timeout", message: "x" } } },
      FaultReason.PROVIDER_TIMEOUT,
    ],
    ["cancelled", { type: "response.cancelled", response: { status: "cancelled" } }, FaultReason.PROVIDER_FAILED],
    [
      "a third name of an error",
      { type: "response.error", error: { code: "rate_limit_exceeded" } },
      FaultReason.RATE_LIMITED,
    ],
    ["queued", { object: "response", status: "queued", output: [] }, FaultReason.PROVIDER_FAILED],
    ["neither a status nor output", { object: "response", output: [] }, FaultReason.PROVIDER_FAILED],
    [
      "a status that is no word",
      { object: "response", status: 1, output: [messageItem("a", "Hi")] },
      FaultReason.PROVIDER_FAILED,
    ],
    ["an item without a type", itemAddedEvent(0, {}), FaultReason.PROVIDER_FAILED],
    ["a terminal event without a response", { type: "response.completed" }, FaultReason.PROVIDER_FAILED],
  ])("is a failure of the turn with %s", (_, event, reason) => {
    expect(reasonOf([event])[0]).toBe(reason);
    // No earlier event turns this end into a success.
    expect(
      reasonOf([
        itemAddedEvent(0, openedMessage("a")),
        textDelta(0, "Hi"),
        itemDoneEvent(0, messageItem("a", "Hi")),
        event,
      ])[0],
    ).toBe(reason);
  });

  test("has the counts of calls of the provider's tools, if it gives any", () => {
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
    const use = { web_search_requests: 1, tool_calls_requested: 2, tool_calls_executed: "many" };
    const outcomeOf = (figures: object) => readGuarded([completedEvent([], { usage: figures })]).events.at(-1);
    const tokens = { inputTokens: 3, outputTokens: 2, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    expect(outcomeOf(usage)).toMatchObject({ outcome: { usage: tokens } });
    expect(outcomeOf({ ...usage, server_tool_use_details: use })).toMatchObject({
      outcome: { usage: { serverToolUse: { webSearchRequests: 1, toolCallsRequested: 2, toolCallsExecuted: 0 } } },
    });
    expect(outcomeOf({ ...usage, server_tool_use_details: { tool_calls_executed: 1 } })).toEqual({
      type: "end",
      outcome: {
        status: "completed",
        serviceTier: "default",
        usage: { ...tokens, serverToolUse: { toolCallsExecuted: 1 } },
      },
    });
  });

  test("is taken from the event's name for a response without a status", () => {
    expect(readGuarded([{ type: "response.completed", response: { output: [messageItem("a", "Hi")] } }]).items).toEqual(
      [messageItem("a", "Hi")],
    );
  });

  test.each<[string, object, object]>([
    ["completed", {}, { status: "completed" }],
    ["completed", { status: null, error: null, incomplete_details: null }, { status: "completed" }],
    [
      "incomplete",
      { incomplete_details: { reason: "content_filter" } },
      { status: "incomplete", reason: "content_filter" },
    ],
    [
      "incomplete",
      { output: [{ ...messageItem("a", "Hi"), status: "incomplete" }] },
      { status: "incomplete", reason: "max_output_tokens" },
    ],
  ])("is %s by the content of a whole answer without a status", (_, more, outcome) => {
    const answer = { object: "response", output: [messageItem("a", "Hi")], ...more };
    const { items, events } = readGuarded([answer]);
    expect(items).toMatchObject([{ content: [{ text: "Hi" }] }]);
    expect(events.at(-1)).toMatchObject({ type: "end", outcome });
  });
});
