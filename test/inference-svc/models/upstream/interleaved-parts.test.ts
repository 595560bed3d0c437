/** Interleaved parts of a provider come one after the other, so no guardrail takes an unfinished part for a whole one. */
import { describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ChatTranslator } from "@sluice/inference-svc/models/upstream/chat/stream.js";
import fc from "../../../support/properties.js";
import { chatChunk } from "../../../support/providers/upstream.js";
import { testRequest, itemsOf } from "../../asking.js";
import { runGuarded, redactFilter } from "../../features/guardrails/gating.js";
import {
  itemAddedEvent,
  completedEvent,
  itemDoneEvent,
  messageItem,
  openedMessage,
  readGuarded,
} from "../../features/guardrails/reading.js";

type Event = Readonly<Record<string, unknown>>;

/** Merges lists of events: some events of one list, in order, then some of another. */
function mixed(lists: readonly (readonly Event[])[], turns: readonly number[]): Event[] {
  const left = lists.map((list) => [...list]);
  const events: Event[] = [];
  for (const turn of turns) events.push(...left[turn % left.length]!.splice(0, 1));
  return [...events, ...left.flat()];
}

const place = { output_index: 0, item_id: "item_0" };
const deltas = (type: string, number: object, texts: readonly string[]): Event[] =>
  texts.map((delta) => ({ type: `response.${type}.delta`, ...place, ...number, delta }));

/** The parts one after the other, each named by its kind and number. */
function order(events: readonly TurnEvent[]): string[] {
  const names = events.flatMap((event) => ("part" in event ? [`${event.type} ${event.part}`] : []));
  return names.filter((name, at) => name !== names[at - 1]);
}

const words = fc.array(fc.constantFrom("plu", "toni", "um", "sec", "ret", " "), { maxLength: 6 });
const turns = fc.array(fc.nat(9), { maxLength: 20 });
const rules = [redactFilter("plutonium", "<m>"), redactFilter("secret", "<s>")];
const clean = (text: string): string => text.replace(/plutonium/g, "<m>").replace(/secret/g, "<s>");

describe("interleaved parts of the Responses format", () => {
  const both = fc.tuple(fc.array(words, { minLength: 1, maxLength: 3 }), turns, fc.boolean());

  test("may be messages", async () => {
    await fc.assert(
      fc.asyncProperty(both, async ([parts, taken, areEnded]) => {
        const texts = parts.map((part) => part.join(""));
        const lists = parts.map((part, at) => [
          ...deltas("output_text", { content_index: at }, part),
          ...(areEnded
            ? [{ type: "response.output_text.done", ...place, content_index: at, text: texts[at] as string }]
            : []),
        ]);
        const { events } = readGuarded([
          itemAddedEvent(0, openedMessage("item_0")),
          ...mixed(lists, taken),
          itemDoneEvent(0, messageItem("item_0", ...texts)),
          completedEvent([]),
        ]);
        await expectInOrder(events);
      }),
      { numRuns: 100 },
    );
  });

  test("may be reasoning and its summaries", async () => {
    await fc.assert(
      fc.asyncProperty(both, words, async ([parts, taken, areEnded], summary) => {
        const lists = [
          deltas("reasoning_summary_text", { summary_index: 0 }, summary),
          ...parts.map((part, at) => [
            ...deltas("reasoning_text", { content_index: at }, part),
            ...(areEnded ? [{ type: "response.content_part.done", ...place, content_index: at }] : []),
          ]),
        ];
        const start = { type: "reasoning", id: "item_0", summary: [] };
        const item = {
          ...start,
          summary: [{ type: "summary_text", text: summary.join("") }],
          content: parts.map((part) => ({ type: "reasoning_text", text: part.join("") })),
        };
        const { events } = readGuarded([
          itemAddedEvent(0, start),
          ...mixed(lists, taken),
          itemDoneEvent(0, item),
          completedEvent([]),
        ]);
        await expectInOrder(events);
      }),
      { numRuns: 100 },
    );
  });

  const part = (number: number, ...texts: string[]) => deltas("output_text", { content_index: number }, texts);
  const partDone = (number: number, text: string) => ({
    type: "response.output_text.done",
    ...place,
    content_index: number,
    text,
  });
  const said = (events: readonly TurnEvent[]) =>
    events.flatMap((event) => (event.type === "text.delta" ? [[event.part, event.delta]] : []));

  test("do not wait for an ended part, whose later text comes after the next beginning", () => {
    const { events } = readGuarded([
      itemAddedEvent(0, openedMessage("item_0")),
      ...part(0, "aha"),
      ...part(1, "b"),
      partDone(0, "aha"),
      ...part(1, "c"),
      ...part(0, "ha"),
      itemDoneEvent(0, messageItem("item_0", "aha", "bc")),
      completedEvent([messageItem("item_0", "aha", "bc")]),
    ]);
    expect(said(events)).toEqual([
      [0, "aha"],
      [1, "b"],
      [1, "c"],
    ]);
  });

  test("may continue after the event for their end, until another part begins", () => {
    const more = [...part(0, "a"), partDone(0, "a"), ...part(0, "b")];
    const { events } = readGuarded([
      itemAddedEvent(0, openedMessage("item_0")),
      ...more,
      itemDoneEvent(0, messageItem("item_0", "ab")),
      completedEvent([]),
    ]);
    expect(said(events)).toEqual([
      [0, "a"],
      [0, "b"],
    ]);
  });

  const followed = [...part(0, "a"), partDone(0, "a"), ...part(1, "b")];
  const thought = { type: "reasoning", id: "item_0", summary: [] };
  const summary = (number: number, text: string) => deltas("reasoning_summary_text", { summary_index: number }, [text]);
  const summaryDone = { type: "response.reasoning_summary_part.done", ...place, summary_index: 0 };
  const call = { type: "function_call", id: "item_0", call_id: "c", name: "f", arguments: "{", status: "completed" };
  const late = deltas("function_call_arguments", {}, ["}"]);

  test("lose a summary sent only in the final response", () => {
    const whole = { ...thought, summary: [{ type: "summary_text", text: "late" }] };
    const { items } = readGuarded([itemAddedEvent(0, thought), itemDoneEvent(0, thought), completedEvent([whole])]);
    expect(items).toMatchObject([{ type: "reasoning", summary: [] }]);
  });

  test.each<[string, Event, readonly Event[], object[]]>([
    ["in a delta of a part that another has followed", openedMessage("item_0"), [...followed, ...part(0, "late")], []],
    ["in the end of such a part", openedMessage("item_0"), [...followed, partDone(0, "alate")], []],
    [
      "in the item of such a part",
      openedMessage("item_0"),
      [...followed, itemDoneEvent(0, messageItem("item_0", "alate", "b"))],
      [],
    ],
    [
      "in a delta of an item",
      openedMessage("item_0"),
      [itemDoneEvent(0, messageItem("item_0", "a")), ...part(0, "late")],
      [],
    ],
    [
      "in a new part of an item",
      openedMessage("item_0"),
      [itemDoneEvent(0, messageItem("item_0", "a")), ...part(1, "late")],
      [],
    ],
    [
      "in the response",
      openedMessage("item_0"),
      [itemDoneEvent(0, messageItem("item_0"))],
      [messageItem("item_0", "late")],
    ],
    ["in a summary", thought, [...summary(0, "a"), summaryDone, ...summary(1, "b"), ...summary(0, "late")], []],
    ["in a delta of a call", call, [itemDoneEvent(0, call), ...late], []],
    ["in the response, of a call", call, [itemDoneEvent(0, call)], [{ ...call, arguments: "{}" }]],
  ])("with text too late for delivery, %s, fail the answer", (_, start, events, output) => {
    expect(() => readGuarded([itemAddedEvent(0, start), ...events, completedEvent(output)])).toThrow(
      "Provider returned error",
    );
  });
});

test("interleaved parts of a chat answer are put in order in reasoning and its summaries", async () => {
  await fc.assert(
    fc.asyncProperty(words, words, turns, async (thought, summary, taken) => {
      const lists = [
        thought.map((text) => chatChunk({ reasoning_details: [{ type: "reasoning.text", text }] })),
        summary.map((text) => chatChunk({ reasoning_details: [{ type: "reasoning.summary", summary: text }] })),
      ];
      await expectInOrder(chatEvents([...mixed(lists, taken), chatChunk({ content: "a" }), chatChunk({}, "stop")]));
    }),
    { numRuns: 100 },
  );
});

function chatEvents(chunks: readonly unknown[]): TurnEvent[] {
  const events: TurnEvent[] = [];
  const target = { upstreamModel: "m", tier: "default", original: false };
  const translator = new ChatTranslator(testRequest(), target, (event) => events.push(event));
  for (const chunk of chunks) translator.event(undefined, JSON.stringify(chunk));
  translator.close();
  return events;
}

/** A guardrail removes matches from the texts in delivery order, and from the texts that clients join. */
async function expectInOrder(events: readonly TurnEvent[]): Promise<void> {
  expect(new Set(order(events)).size).toBe(order(events).length);
  const guarded = await runGuarded(
    events.map((event) => [event]),
    rules,
  );
  itemsOf(guarded.events);
  for (const type of [...joinedTypes, undefined]) {
    const left = textOf(guarded.events, type);
    expect(left).toBe(clean(left));
  }
  const isJoinedClean = joinedTypes.every((type) => clean(textOf(events, type)) === textOf(events, type));
  if (isJoinedClean) expect(textOf(guarded.events)).toBe(clean(textOf(events)));
}

/** Texts of parts of these types are joined, even with other parts between them. */
const joinedTypes: readonly TurnEvent["type"][] = ["text.delta", "reasoning.delta", "summary.delta"];

/**
 * The texts in delivery order.
 * @param type of the deltas; all of them when absent
 */
const textOf = (events: readonly TurnEvent[], type?: TurnEvent["type"]): string =>
  events.map((event) => ("delta" in event && (type ?? event.type) === event.type ? event.delta : "")).join("");
