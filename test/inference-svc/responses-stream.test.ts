/** What servers of the Responses format say, in good and in poor order, as items of a response. */
import { describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ResponsesTranslator } from "@sluice/inference-svc/upstream/responses/stream.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { asking, itemsOf } from "./asking.js";

const target = { upstreamModel: "large-2", tier: "default", original: false };

function read(events: readonly unknown[], request: Partial<TurnRequest> = {}) {
  const given: TurnEvent[] = [];
  const translator = new ResponsesTranslator(asking(request), target, (event) => given.push(event));
  for (const event of events) translator.event(undefined, JSON.stringify(event));
  translator.close();
  return { events: given, items: itemsOf(given) };
}

const reasonOf = (events: readonly unknown[]): [FaultReason, string] => {
  try {
    read(events);
  } catch (error) {
    if (error instanceof Fault) return [error.reason, error.message];
    throw error;
  }
  throw new Error("nothing was thrown");
};

const added = (output_index: number, item: object) => ({ type: "response.output_item.added", output_index, item });
const itemDone = (output_index: number, item: object) => ({ type: "response.output_item.done", output_index, item });
const textDelta = (output_index: number, delta: string, content_index = 0) => ({
  type: "response.output_text.delta",
  output_index,
  content_index,
  delta,
});
const completed = (output: unknown[], more: object = {}) => ({
  type: "response.completed",
  response: { status: "completed", output, usage: null, ...more },
});
const message = (id: string, ...texts: string[]) => ({
  type: "message",
  id,
  role: "assistant",
  status: "completed",
  content: texts.map((text) => ({ type: "output_text", text, annotations: [], logprobs: [] })),
});
const opened = (id: string) => ({ type: "message", id, role: "assistant", status: "in_progress", content: [] });

describe("items", () => {
  test("gaps and reordering of the provider's numbers are closed in the order of beginning", () => {
    const { items, events } = read([
      added(4, opened("b")),
      textDelta(4, "B"),
      itemDone(4, message("b", "B")),
      added(1, opened("a")),
      textDelta(1, "A"),
      itemDone(1, message("a", "A")),
      completed([message("a", "A"), message("b", "B")]),
    ]);
    expect(items).toEqual([message("b", "B"), message("a", "A")]);
    expect(events.filter((event) => event.type === "item.start").map((event) => event.index)).toEqual([0, 1]);
  });

  test("one that was never finished is finished by the terminal response", () => {
    const { items, events } = read([added(0, opened("a")), textDelta(0, "Hal"), completed([message("a", "Half")])]);
    expect(items).toEqual([message("a", "Half")]);
    expect(events).toContainEqual({ type: "text.delta", index: 0, part: 0, delta: "f" });
  });

  test("one that was never begun comes with all its deltas", () => {
    const { items, events } = read([completed([message("a", "One", "Two")])]);
    expect(items).toEqual([message("a", "One", "Two")]);
    expect(events.map((event) => event.type)).toEqual(["item.start", "text.delta", "text.delta", "item.end", "end"]);
  });

  test("neither the item nor the terminal response says anything: what was streamed counts", () => {
    expect(read([added(0, opened("a")), textDelta(0, "Hi"), completed([])]).items).toEqual([message("a", "Hi")]);
  });

  test("another id in the terminal response is no second item", () => {
    const { items } = read([added(0, opened("a")), textDelta(0, "Hi"), completed([message("other", "Hi")])]);
    expect(items).toEqual([message("a", "Hi")]);
  });

  test("a delta without an announcement begins its item", () => {
    expect(read([textDelta(0, "Hi"), completed([message("a", "Hi")])]).items).toMatchObject([
      { type: "message", content: [{ text: "Hi" }] },
    ]);
  });

  test("a finished text that contradicts its deltas does not change them", () => {
    expect(
      read([
        added(0, opened("a")),
        textDelta(0, "Hello"),
        itemDone(0, message("a", "Goodbye")),
        completed([message("a", "Goodbye")]),
      ]).items,
    ).toEqual([message("a", "Hello")]);
  });

  test("fields that nobody here knows stay", () => {
    const item = { ...message("a", "Hi"), phase: "final_answer" };
    const { items, events } = read([
      added(0, { ...opened("a"), phase: "final_answer" }),
      itemDone(0, item),
      completed([item]),
    ]);
    expect(items).toEqual([item]);
    expect(events[0]).toEqual({ type: "item.start", index: 0, item: { ...opened("a"), phase: "final_answer" } });
  });

  test("annotations by event, and those that only the item has", () => {
    const citation = (url: string) => ({ type: "url_citation", url, title: "", start_index: 0, end_index: 1 });
    const item = message("a", "Hi");
    const content = [
      { ...item.content[0], annotations: [citation("https://a.example/"), citation("https://b.example/")] },
    ];
    const { items, events } = read([
      added(0, opened("a")),
      textDelta(0, "Hi"),
      {
        type: "response.output_text.annotation.added",
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: citation("https://a.example/"),
      },
      itemDone(0, { ...item, content }),
      completed([]),
    ]);
    expect(items).toEqual([{ ...item, content }]);
    expect(events.filter((event) => event.type === "annotation")).toHaveLength(2);
  });

  test("log probabilities only when they were asked for", () => {
    const logprobs = [{ token: "Hi", logprob: -0.1, bytes: [], top_logprobs: [] }];
    const events = [
      added(0, opened("a")),
      { ...textDelta(0, "Hi"), logprobs },
      itemDone(0, message("a", "Hi")),
      completed([]),
    ];
    expect(JSON.stringify(read(events).events)).not.toContain("-0.1");
    expect(read(events, { include: ["message.output_text.logprobs"] }).items).toEqual([
      { ...message("a", "Hi"), content: [{ ...message("a", "Hi").content[0], logprobs }] },
    ]);
  });

  test("reasoning of Open Responses, with a format", () => {
    const item = {
      type: "reasoning",
      id: "r",
      status: "completed",
      summary: [],
      content: [{ type: "reasoning_text", text: "Hm" }],
      format: "xai-responses-v1",
      signature: "s",
    };
    const { items } = read([
      added(0, { type: "reasoning", id: "r", summary: [] }),
      { type: "response.reasoning.delta", output_index: 0, content_index: 0, delta: "Hm" },
      itemDone(0, item),
      completed([]),
    ]);
    expect(items).toEqual([item]);
  });

  test("function calls in parallel, arguments only in the item", () => {
    const call = (id: string, json: string) => ({
      type: "function_call",
      id,
      call_id: `c_${id}`,
      name: "f",
      arguments: json,
      status: "completed",
    });
    const { items } = read([
      added(0, { ...call("a", ""), status: "in_progress" }),
      added(1, { ...call("b", ""), status: "in_progress" }),
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"x":' },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "1}" },
      itemDone(0, call("a", '{"x":1}')),
      itemDone(1, call("b", "{}")),
      completed([]),
    ]);
    expect(items).toEqual([call("a", '{"x":1}'), call("b", "{}")]);
  });

  test("kinds that are not known pass whole, their deltas are skipped", () => {
    const item = { type: "custom_tool_call", id: "x", call_id: "c", name: "f", input: "abc", status: "completed" };
    const { items, events } = read([
      added(0, { ...item, input: "", status: "in_progress" }),
      { type: "response.custom_tool_call_input.delta", output_index: 0, delta: "abc" },
      { type: "__proto__", output_index: 0 },
      itemDone(0, item),
      completed([item]),
    ]);
    expect(items).toEqual([item]);
    expect(events.map((event) => event.type)).toEqual(["item.start", "item.end", "end"]);
  });
});

describe("the end", () => {
  test("incomplete", () => {
    const { events, items } = read([
      added(0, opened("a")),
      textDelta(0, "Once"),
      {
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "content_filter" }, output: [] },
      },
    ]);
    expect(events.at(-1)).toEqual({
      type: "end",
      outcome: { status: "incomplete", reason: "content_filter", serviceTier: "default" },
    });
    expect(items[0]?.status).toBe("incomplete");
  });

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
    ["queued", { object: "response", status: "queued", output: [] }, FaultReason.PROVIDER_FAILED],
    ["an item without a type", added(0, {}), FaultReason.PROVIDER_FAILED],
    ["a terminal event without a response", { type: "response.completed" }, FaultReason.PROVIDER_FAILED],
  ])("%s", (_, event, reason) => {
    expect(reasonOf([event])[0]).toBe(reason);
  });

  test("none at all", () => {
    expect(reasonOf([added(0, opened("a")), textDelta(0, "Hi")])).toEqual([
      FaultReason.PROVIDER_FAILED,
      "Provider connection lost",
    ]);
  });
});
