/** Parts that a provider writes beside each other come one after the other, so that no guardrail takes one for whole that goes on. */
import { describe, expect, test } from "@jest/globals";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ChatTranslator } from "@sluice/inference-svc/upstream/chat/stream.js";
import fc from "fast-check";
import { chatChunk } from "../support/upstream.js";
import { asking, itemsOf } from "./asking.js";
import { gated, redact } from "./gating.js";
import { added, completed, itemDone, message, opened, read } from "./reading.js";

type Event = Readonly<Record<string, unknown>>;

/** Some events of each list, in its order, and then of another. */
function mixed(lists: readonly (readonly Event[])[], turns: readonly number[]): Event[] {
  const left = lists.map((list) => [...list]);
  const events: Event[] = [];
  for (const turn of turns) events.push(...left[turn % left.length]!.splice(0, 1));
  return [...events, ...left.flat()];
}

const place = { output_index: 0, item_id: "item_0" };
const deltas = (type: string, number: object, texts: readonly string[]): Event[] =>
  texts.map((delta) => ({ type: `response.${type}.delta`, ...place, ...number, delta }));

/** Each part in one go, named by its kind and number. */
function order(events: readonly TurnEvent[]): string[] {
  const names = events.flatMap((event) => ("part" in event ? [`${event.type} ${event.part}`] : []));
  return names.filter((name, at) => name !== names[at - 1]);
}

const words = fc.array(fc.constantFrom("plu", "toni", "um", "sec", "ret", " "), { maxLength: 6 });
const turns = fc.array(fc.nat(9), { maxLength: 20 });
const rules = [redact("plutonium", "<m>"), redact("secret", "<s>")];
const clean = (text: string): string => text.replace(/plutonium/g, "<m>").replace(/secret/g, "<s>");

describe("of the Responses format", () => {
  const both = fc.tuple(fc.array(words, { minLength: 1, maxLength: 3 }), turns, fc.boolean());

  test("messages", async () => {
    await fc.assert(
      fc.asyncProperty(both, async ([parts, taken, areEnded]) => {
        const texts = parts.map((part) => part.join(""));
        const lists = parts.map((part, at) => [
          ...deltas("output_text", { content_index: at }, part),
          ...(areEnded
            ? [{ type: "response.output_text.done", ...place, content_index: at, text: texts[at] as string }]
            : []),
        ]);
        const { events } = read([
          added(0, opened("item_0")),
          ...mixed(lists, taken),
          itemDone(0, message("item_0", ...texts)),
          completed([]),
        ]);
        await expectInOrder(events);
      }),
      { numRuns: 100 },
    );
  });

  test("thoughts and their summaries", async () => {
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
        const { events } = read([added(0, start), ...mixed(lists, taken), itemDone(0, item), completed([])]);
        await expectInOrder(events);
      }),
      { numRuns: 100 },
    );
  });

  test("a part that has ended keeps none behind it waiting, and says no more once another has begun", () => {
    const part = (number: number, ...texts: string[]) => deltas("output_text", { content_index: number }, texts);
    const { events } = read([
      added(0, opened("item_0")),
      ...part(0, "a"),
      ...part(1, "b"),
      { type: "response.output_text.done", ...place, content_index: 0, text: "a" },
      ...part(1, "c"),
      ...part(0, "late"),
      itemDone(0, message("item_0", "alate", "bc")),
      completed([]),
    ]);
    const said = events.flatMap((event) => (event.type === "text.delta" ? [[event.part, event.delta]] : []));
    expect(said).toEqual([
      [0, "a"],
      [1, "b"],
      [1, "c"],
    ]);
  });
});

test("chat, in thoughts and their summaries", async () => {
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
  const translator = new ChatTranslator(asking(), target, (event) => events.push(event));
  for (const chunk of chunks) translator.event(undefined, JSON.stringify(chunk));
  translator.close();
  return events;
}

/** What of the events a guardrail lets through is what it leaves of each part. */
async function expectInOrder(events: readonly TurnEvent[]): Promise<void> {
  expect(new Set(order(events)).size).toBe(order(events).length);
  const guarded = await gated(
    events.map((event) => [event]),
    rules,
  );
  itemsOf(guarded.events);
  expect(textOf(guarded.events)).toBe(clean(textOf(events)));
}

/** In the order in which it was said. */
const textOf = (events: readonly TurnEvent[]): string =>
  events.map((event) => ("delta" in event ? event.delta : "")).join("");
