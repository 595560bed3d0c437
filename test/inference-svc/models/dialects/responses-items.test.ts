/** Every kind of item of a Responses server, with its sequence of events: from a stream, cut anywhere, and whole. */
import { describe, expect, test } from "@jest/globals";
import type { Tool, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import fc from "../../../support/properties.js";
import { sse } from "../../../support/providers/upstream.js";
import { itemsOf } from "../../asking.js";
import { answerOf, eventsOf, itemOf, itemKinds, streamOf } from "./item-stories.js";
import {
  itemAddedEvent,
  completedEvent,
  itemDoneEvent,
  readGuarded,
  readBytes,
} from "../../features/guardrails/reading.js";

const wanted: Partial<TurnRequest> = { include: ["reasoning.encrypted_content"] };

const short = (event: TurnEvent): string => (event.type === "native" ? `native ${event.name}` : event.type);

describe("every kind of item in a Responses answer", () => {
  test.each(itemKinds.map((kind) => [kind.type, kind] as const))("of the type %s passes unchanged", (_, kind) => {
    const { events, items } = readGuarded(streamOf([kind]), wanted);
    expect(items).toEqual([answerOf(kind, 0)]);
    expect(events.map(short)).toEqual(["item.start", ...(kind.story.given ?? []), "item.end", "end"]);
    const start = { type: kind.type, id: "item_0", status: "in_progress", ...kind.story.start };
    if (kind.story.start && kind.type !== "reasoning")
      expect(events[0]).toEqual({ type: "item.start", index: 0, item: start });
  });

  test.each(itemKinds.map((kind) => [kind.type, kind] as const))(
    "keeps the payload of the provider's own events: %s",
    (_, kind) => {
      const natives = readGuarded(streamOf([kind]), wanted).events.filter((event) => event.type === "native");
      const payloads = eventsOf(kind).filter(([name]) => natives.some((event) => event.name === name));
      expect(natives.map((event) => [event.index, event.name, JSON.parse(event.payloadJson)])).toEqual(
        payloads.map(([name, payload]) => [0, name, payload]),
      );
    },
  );

  test("arrives, all of them in one stream and whole", () => {
    const items = itemKinds.map(itemOf);
    expect(readGuarded(streamOf(itemKinds), wanted).items).toEqual(itemKinds.map(answerOf));
    expect(readGuarded([{ object: "response", status: "completed", output: items }], wanted).items).toEqual(
      itemKinds.map(answerOf),
    );
    expect(readGuarded([completedEvent(items)], wanted).items).toEqual(itemKinds.map(answerOf));
  });

  const chosen = fc.array(fc.constantFrom(...itemKinds), { minLength: 1, maxLength: 6 });

  test("gives the same events when cut at any byte", () => {
    fc.assert(
      fc.property(chosen, fc.array(fc.nat(), { maxLength: 12 }), (some, cuts) => {
        const events = streamOf(some);
        const bytes = Buffer.from(sse(...events));
        const borders = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort((a, b) => a - b);
        const pieces = borders.slice(1).map((border, at) => bytes.subarray(borders[at], border));
        expect(readBytes(pieces, wanted)).toEqual(readGuarded(events, wanted).events);
      }),
      { numRuns: 100 },
    );
  });

  test("arrives with gaps in the provider's numbers or without numbers of events", () => {
    fc.assert(
      fc.property(chosen, fc.integer({ min: 2, max: 9 }), fc.boolean(), (some, factor, byId) => {
        const renumbered = streamOf(some).map((event) =>
          typeof event.output_index === "number"
            ? {
                ...event,
                output_index: byId && event.item_id !== undefined ? undefined : event.output_index * factor + 1,
              }
            : event,
        );
        expect(readGuarded(renumbered, wanted).items).toEqual(some.map(answerOf));
      }),
      { numRuns: 100 },
    );
  });

  test("arrives with all events of several items interleaved", () => {
    fc.assert(
      fc.property(chosen, (some) => {
        const stream = streamOf(some).slice(2, -1);
        const starts = stream.filter((event) => event.type === "response.output_item.added");
        const ends = stream.filter((event) => event.type === "response.output_item.done");
        const between = stream.filter((event) => !starts.includes(event) && !ends.includes(event));
        // Only the whole response has the result of an item without an end.
        const output = ends.length === some.length ? [] : some.map(itemOf);
        expect(readGuarded([...starts, ...between, ...ends, completedEvent(output)], wanted).items).toEqual(
          some.map(answerOf),
        );
      }),
      { numRuns: 100 },
    );
  });

  test("is a failure in a stream that stops anywhere before its end", () => {
    fc.assert(
      fc.property(chosen, fc.nat(), (some, cut) => {
        const events = streamOf(some);
        expect(() => readGuarded(events.slice(0, cut % (events.length - 1)), wanted)).toThrow(
          "Provider connection lost",
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe("an event without an item in a Responses answer", () => {
  test("passes for audio", () => {
    const { events } = readGuarded([
      { type: "response.audio.delta", sequence_number: 1, response_id: "r", delta: "AA" },
      { type: "response.audio.transcript.done", sequence_number: 2 },
      completedEvent([]),
    ]);
    expect(events.slice(0, 2)).toEqual([
      { type: "native", name: "response.audio.delta", payloadJson: '{"response_id":"r","delta":"AA"}' },
      { type: "native", name: "response.audio.transcript.done", payloadJson: "{}" },
    ]);
  });
});

describe("reasoning of a Responses answer is marked", () => {
  const item = { type: "reasoning", id: "r", status: "completed", summary: [], encrypted_content: "b64" };
  const stamped = (more: object, reasoningFormat?: string) =>
    readGuarded(
      [itemDoneEvent(0, { ...item, ...more }), completedEvent([])],
      {},
      reasoningFormat === undefined ? {} : { reasoningFormat },
    ).items[0];

  test("with the provider's format unless it names another, and sealed only on request", () => {
    expect(stamped({})).toEqual({
      ...item,
      content: [],
      encrypted_content: undefined,
      format: "unknown",
      signature: null,
    });
    expect(stamped({}, "openai-responses-v1")).toMatchObject({ format: "openai-responses-v1" });
    expect(stamped({ format: null, signature: "s" }, "xai-responses-v1")).toMatchObject({
      format: "xai-responses-v1",
      signature: "s",
    });
    expect(stamped({ format: "anthropic-claude-v1" }, "openai-responses-v1")).toMatchObject({
      format: "anthropic-claude-v1",
    });
    expect(readGuarded([itemDoneEvent(0, item), completedEvent([])], wanted).items).toMatchObject([
      { encrypted_content: "b64" },
    ]);
  });
});

describe("items of Sluice's tools in a Responses answer", () => {
  const tool = (kind: string, spelling: string): Tool => ({
    type: "hosted",
    kind,
    spelling,
    json: `{"type":"${spelling}"}`,
  });
  const typesFor = (tools: readonly Tool[], type: string) =>
    readGuarded([itemDoneEvent(0, { type, id: "st", status: "completed" }), completedEvent([])], { tools }).items.map(
      (item) => item.type,
    );

  test.each([
    ["service:datetime", "vendor:datetime", "service:datetime", "vendor:datetime"],
    ["service:datetime", "service:datetime", "vendor:datetime", "service:datetime"],
    [
      "service:search_models",
      "vendor:experimental__search_models",
      "service:search_models",
      "vendor:experimental__search_models",
    ],
    // A call that no tool of the request explains keeps the provider's name.
    ["service:datetime", "vendor:datetime", "service:memory", "service:memory"],
    ["web_search", "web_search", "vendor:web_search", "vendor:web_search"],
    ["web_search", "web_search", "web_search_call", "web_search_call"],
  ])("are named as requested: %s, requested as %s, returned as %s", (kind, spelling, type, expected) => {
    expect(typesFor([tool(kind, spelling)], type)).toEqual([expected]);
  });
});

describe("omissions of a provider of Responses are filled in:", () => {
  test("an id, a call id, a status", () => {
    const { items } = readGuarded([
      itemDoneEvent(0, { type: "web_search_call" }),
      itemDoneEvent(1, { type: "custom_tool_call", name: "f", input: "x" }),
      completedEvent([]),
    ]);
    expect(items).toEqual([
      { type: "web_search_call", id: expect.stringMatching(/^item_/), status: "completed" },
      {
        type: "custom_tool_call",
        id: expect.stringMatching(/^ctc_/),
        call_id: expect.stringMatching(/^call_/),
        name: "f",
        input: "x",
        status: "completed",
      },
    ]);
  });

  test("the end of an item begun in an incomplete answer", () => {
    const { items } = readGuarded([
      itemAddedEvent(0, { type: "web_search_call", id: "w", status: "in_progress" }),
      itemAddedEvent(1, {
        type: "apply_patch_call",
        id: "p",
        call_id: "c",
        status: "in_progress",
        operation: { type: "update_file", path: "a", diff: "" },
      }),
      { type: "response.apply_patch_call_operation_diff.delta", output_index: 1, delta: "@@" },
      itemAddedEvent(2, {
        type: "custom_tool_call",
        id: "x",
        call_id: "d",
        name: "f",
        input: "",
        status: "in_progress",
      }),
      {
        type: "response.incomplete",
        response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
      },
    ]);
    expect(items).toEqual([
      { type: "web_search_call", id: "w", status: "incomplete" },
      {
        type: "apply_patch_call",
        id: "p",
        call_id: "c",
        status: "in_progress",
        operation: { type: "update_file", path: "a", diff: "@@" },
      },
      { type: "custom_tool_call", id: "x", call_id: "d", name: "f", input: "", status: "incomplete" },
    ]);
  });

  test("deltas of a patch and of code", () => {
    const patch = {
      type: "apply_patch_call",
      id: "p",
      call_id: "c",
      status: "completed",
      operation: { type: "delete_file", path: "a" },
    };
    const code = {
      type: "code_interpreter_call",
      id: "ci",
      status: "completed",
      code: null,
      container_id: "c",
      outputs: null,
    };
    const whole = { ...patch, id: "q", operation: { type: "create_file", path: "b", diff: "+b" } };
    const { items, events } = readGuarded([completedEvent([patch, code, whole])]);
    expect(items).toEqual([patch, code, whole]);
    expect(events.map(short)).toEqual([...Array.from({ length: 3 }, () => ["item.start", "item.end"]).flat(), "end"]);
  });

  test("none for an item of several megabytes", () => {
    const item = { type: "image_generation_call", id: "i", status: "completed", result: "A".repeat(3_000_000) };
    expect(itemsOf(readGuarded([itemDoneEvent(0, item), completedEvent([item])]).events)).toEqual([item]);
  });
});
