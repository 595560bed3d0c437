import { describe, expect, test } from "@jest/globals";
import { Ladder } from "@sluice/gateway/doors/responses/ladder.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import type { OutputItem, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { toWire } from "@sluice/inference-svc/engine/wire.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { sampleStream } from "../support/contract.ts";
import { type SseEvent, type SseStream, parseSse } from "../support/answers/sse.ts";

const echo = { instructionsJson: "null", beforeTier: '"tools":[]', afterTier: '"store":false' };
const newLadder = () => new Ladder(new ResponseObject({ id: "resp_1", createdAt: 1, model: "acme/large-2", echo }));
const wire = (events: readonly TurnEvent[]) => toWire(events, () => new Uint8Array()).events;

/** The events of the items, without their numbers. */
const ofItems = (events: readonly SseEvent[]) =>
  events
    .filter((event) => event["output_index"] !== undefined)
    .map((event): Record<string, unknown> & { type: string } => {
      const { sequence_number, ...rest } = event;
      expect(typeof sequence_number).toBe("number");
      return rest;
    });
const shown = (text: string) => ofItems(parseSse(text).events);
/** The output of a stream's last response. */
const lastOutput = ({ events }: SseStream) => (events.at(-1) as SseEvent)["response"] as { output: OutputItem[] };

const start = (item: OutputItem, index = 0): TurnEvent => ({ type: "item.start", index, item });
const finish = (item: OutputItem, index = 0): TurnEvent => ({ type: "item.end", index, item });
const delta = (text: string, index = 0): TurnEvent => ({ type: "arguments.delta", index, delta: text });
const native = (name: string, payload: object = {}, index = 0): TurnEvent => ({
  type: "native",
  name,
  index,
  payloadJson: JSON.stringify(payload),
});
const end: TurnEvent = { type: "end", outcome: { status: "completed", serviceTier: "default" } };
const added = (item: OutputItem) => ({ type: "response.output_item.added", output_index: 0, item });
const done = (item: OutputItem) => ({ type: "response.output_item.done", output_index: 0, item });

/** A call before and after its text, and the name of its events. */
const calls: [string, (text: string) => OutputItem, string, string, object][] = [
  [
    "function_call",
    (text) => ({ type: "function_call", id: "i", call_id: "c", name: "f", arguments: text, status: "completed" }),
    "response.function_call_arguments",
    "arguments",
    { name: "f" },
  ],
  [
    "mcp_call",
    (text) => ({ type: "mcp_call", id: "i", name: "f", server_label: "s", arguments: text, status: "completed" }),
    "response.mcp_call_arguments",
    "arguments",
    {},
  ],
  [
    "custom_tool_call",
    (text) => ({ type: "custom_tool_call", id: "i", call_id: "c", name: "f", input: text, status: "completed" }),
    "response.custom_tool_call_input",
    "input",
    {},
  ],
  [
    "code_interpreter_call",
    (text) => ({ type: "code_interpreter_call", id: "i", container_id: "c", code: text, status: "completed" }),
    "response.code_interpreter_call_code",
    "code",
    {},
  ],
  [
    "apply_patch_call",
    (text) => ({
      type: "apply_patch_call",
      id: "i",
      call_id: "c",
      operation: { type: "update_file", path: "a", diff: text },
      status: "completed",
    }),
    "response.apply_patch_call_operation_diff",
    "diff",
    {},
  ],
];

describe("the text of a tool call in a Responses stream", () => {
  test.each(calls)("is sent for %s in deltas, then in a done event with all of it", (_, item, stem, member, more) => {
    const at = { item_id: "i", output_index: 0 };
    expect(shown(newLadder().events(wire([start(item("")), delta("ab"), delta("c"), finish(item("abcd"))])))).toEqual([
      added(item("")),
      { type: `${stem}.delta`, ...at, delta: "ab" },
      { type: `${stem}.delta`, ...at, delta: "c" },
      { type: `${stem}.delta`, ...at, delta: "d" },
      { type: `${stem}.done`, ...at, ...more, [member]: "abcd" },
      done(item("abcd")),
    ]);
  });

  test.each(calls)(
    "is, for %s, the same in the done event as in the deltas, whatever the item has",
    (_, item, stem, member) => {
      const events = shown(newLadder().events(wire([start(item("")), delta("ab"), finish(item("xyz"))])));
      expect(events.find((event) => event.type === `${stem}.done`)).toMatchObject({ [member]: "ab" });
      expect(events.at(-1)).toEqual(done(item("xyz")));
    },
  );

  test.each(calls)("is kept as delivered for %s after a failure", (type, item, _, member) => {
    const ladder = newLadder();
    const text = ladder.events(wire([start(item("")), delta("ab"), delta("c")]));
    const stream = parseSse(text + ladder.failed(new Fault(FaultReason.PROVIDER_FAILED)));
    expect(stream.events.map((event) => event.type)).not.toContain("response.output_item.done");
    const { output } = lastOutput(stream);
    const whole = member === "diff" ? output[0]?.["operation"] : output[0];
    expect(whole).toMatchObject({ [member]: "abc" });
    expect(output[0]?.["status"]).toBe(type === "apply_patch_call" ? "in_progress" : "incomplete");
  });

  test("has no events for a patch that is given whole", () => {
    const item = calls[4]?.[1] as (text: string) => OutputItem;
    expect(shown(newLadder().events(wire([start(item("")), finish(item("@@"))])))).toEqual([
      added(item("")),
      done(item("@@")),
    ]);
  });

  test("has no events for code that is not written", () => {
    const item: OutputItem = { type: "code_interpreter_call", id: "i", code: null, status: "completed" };
    expect(shown(newLadder().events(wire([start(item), finish(item)])))).toEqual([added(item), done(item)]);
  });

  test("is done for code before the code runs", () => {
    const item = calls[3]?.[1] as (text: string) => OutputItem;
    const stem = "response.code_interpreter_call";
    const events = [
      start(item("")),
      native(`${stem}.in_progress`),
      delta("1+1"),
      native(`${stem}.interpreting`),
      native(`${stem}.completed`),
      delta("late"),
      finish(item("1+1")),
    ];
    expect(shown(newLadder().events(wire(events))).map((event) => event.type)).toEqual([
      "response.output_item.added",
      `${stem}.in_progress`,
      `${stem}_code.delta`,
      `${stem}_code.done`,
      `${stem}.interpreting`,
      `${stem}.completed`,
      "response.output_item.done",
    ]);
  });
});

describe("items of other kinds in a Responses stream", () => {
  test("show a provider's progress with its address first, in order", () => {
    const item: OutputItem = { type: "image_generation_call", id: "i", status: "in_progress", result: null };
    const whole: OutputItem = { ...item, status: "completed", result: "QQ==" };
    const stem = "response.image_generation_call";
    const text = newLadder().events(
      wire([
        start(item),
        native(`${stem}.in_progress`),
        native(`${stem}.partial_image`, { partial_image_index: 0, partial_image_b64: "QQ==" }),
        { type: "native", name: "response.audio.delta", payloadJson: '{"delta":"QQ=="}' },
        finish(whole),
      ]),
    );
    expect(shown(text)).toEqual([
      added(item),
      { type: `${stem}.in_progress`, item_id: "i", output_index: 0 },
      {
        type: `${stem}.partial_image`,
        item_id: "i",
        output_index: 0,
        partial_image_index: 0,
        partial_image_b64: "QQ==",
      },
      done(whole),
    ]);
    expect(text).toMatch(/partial_image","sequence_number":4,"item_id":"i","output_index":0,"partial_image_index":0/);
    expect(text).toContain('data: {"type":"response.audio.delta","sequence_number":5,"delta":"QQ=="}\n\n');
  });

  test("cannot contain an event of a provider that passes for one of the stream, or breaks its lines", () => {
    const names = [
      "response.completed",
      "error",
      "response.output_item.done",
      "response.x.y\ndata: [DONE]",
      "",
      "x.y.z",
    ];
    const item: OutputItem = { type: "web_search_call", id: "i", status: "in_progress" };
    expect(shown(newLadder().events(wire([start(item), ...names.map((name) => native(name))])))).toEqual([added(item)]);
  });

  test("have the status failed for a search that fails in the middle", () => {
    const ladder = newLadder();
    const text = ladder.events(wire([start({ type: "web_search_call", id: "i", status: "in_progress" })]));
    const stream = parseSse(text + ladder.failed(new Fault(FaultReason.PROVIDER_FAILED)));
    expect(stream.events.at(-1)?.["response"]).toMatchObject({
      output: [{ type: "web_search_call", status: "failed" }],
    });
  });

  test("appear as in the sample with a custom call and a patch", () => {
    const wanted = ofItems(sampleStream("16-custom-and-patch.sse").events);
    const item = (type: string, index: number) =>
      wanted.find((event) => event.type === type && event["output_index"] === index)?.["item"] as OutputItem;
    const [addedType, doneType] = ["response.output_item.added", "response.output_item.done"] as const;
    const events = [
      start(item(addedType, 0)),
      delta("select "),
      delta("1"),
      finish(item(doneType, 0)),
      start(item(addedType, 1), 1),
      delta("@@\n-a\n+b\n", 1),
      finish(item(doneType, 1), 1),
      end,
    ];
    expect(shown(newLadder().events(wire(events)))).toEqual(wanted);
  });
});

describe("events out of order in a Responses stream", () => {
  const message: OutputItem = { type: "message", id: "m", role: "assistant", status: "in_progress", content: [] };
  const text = (part: number, words: string): TurnEvent => ({ type: "text.delta", index: 0, part, delta: words });

  test("add no text to a closed part, and insert a skipped part before the next", () => {
    const whole = { ...message, status: "completed", content: ["", "ab", "c"].map((words) => partOf(words)) };
    const events = [start(message), text(1, "ab"), text(2, "c"), text(1, "late"), finish(whole)];
    const parts = shown(newLadder().events(wire(events))).filter((event) => event["content_index"] !== undefined);
    expect(parts.map((event) => [event.type.slice(9), event["content_index"], event["delta"] ?? ""])).toEqual([
      ["content_part.added", 0, ""],
      ["output_text.done", 0, ""],
      ["content_part.done", 0, ""],
      ["content_part.added", 1, ""],
      ["output_text.delta", 1, "ab"],
      ["output_text.done", 1, ""],
      ["content_part.done", 1, ""],
      ["content_part.added", 2, ""],
      ["output_text.delta", 2, "c"],
      ["output_text.done", 2, ""],
      ["content_part.done", 2, ""],
    ]);
  });

  const partOf = (words: string) => ({ type: "output_text", text: words, annotations: [], logprobs: [] });

  test.each<[string, TurnEvent[]]>([
    ["items that leave a gap", [start(message), start({ ...message, id: "n" }, 2)]],
    ["an item that begins twice", [start(message), start(message)]],
    ["an item that ends without a beginning", [finish(message)]],
    ["a turn that ends with an open item", [start(message), end]],
  ])("fail the answer, which does not pass for complete: %s", (_, events) => {
    const ladder = newLadder();
    let fault: unknown;
    try {
      ladder.events(wire(events));
    } catch (error) {
      fault = error;
    }
    expect(fault).toMatchObject({ reason: FaultReason.INTERNAL, message: "Internal Server Error" });
    const stream = parseSse(ladder.failed(fault as Fault));
    expect(stream.done).toBe(true);
    expect(stream.events.at(-1)?.type).toBe("response.failed");
  });

  test("are not sent after the end", () => {
    const ladder = newLadder();
    expect(parseSse(ladder.events(wire([end, start(message), end]))).events.at(-1)?.type).toBe("response.completed");
    expect(ladder.events(wire([start(message)])) + ladder.failed(new Fault(FaultReason.INTERNAL))).toBe("");
  });

  test("in a whole answer with a gap in its output are a failure", () => {
    const object = new ResponseObject({ id: "resp_1", createdAt: 1, model: "m", echo });
    for (const { event } of wire([finish(message, 1), end])) object.apply(event);
    expect(() => object.terminal()).toThrow("without one of its items");
  });
});
