import { describe, expect, test } from "@jest/globals";
import { Ladder } from "@sluice/gateway/doors/responses/ladder.js";
import { ResponseObject } from "@sluice/proto/lib/responses/object.js";
import { toWire } from "@sluice/inference-svc/engine/wire.js";
import type { OutputItem, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import fc from "../support/properties.js";
import { type SseEvent, parseSse } from "../support/answers/sse.ts";

const echo = { instructionsJson: "null", beforeTier: '"tools":[]', afterTier: '"store":false' };
const object = () => new ResponseObject({ id: "resp_1", createdAt: 1_790_000_000, model: "acme/asked", echo });

/** A finished item together with its deltas. */
interface Story {
  readonly item: OutputItem;
  readonly deltas: readonly TurnEvent[];
}

const pieces = fc.array(fc.string({ unit: "grapheme", maxLength: 6 }), { maxLength: 4 });

const messageStory = fc
  .array(fc.record({ kind: fc.constantFrom("output_text", "refusal"), pieces }), { minLength: 1, maxLength: 3 })
  .map(
    (parts) =>
      (index: number): Story => ({
        item: {
          type: "message",
          id: `msg_${index}`,
          role: "assistant",
          status: "completed",
          content: parts.map((part) =>
            part.kind === "refusal"
              ? { type: "refusal", refusal: part.pieces.join("") }
              : { type: "output_text", text: part.pieces.join(""), annotations: [], logprobs: [] },
          ),
        },
        deltas: parts.flatMap((part, position) =>
          part.pieces.map((delta) => ({
            type: part.kind === "refusal" ? ("refusal.delta" as const) : ("text.delta" as const),
            index,
            part: position,
            delta,
          })),
        ),
      }),
  );

const reasoningStory = fc
  .record({ summary: fc.array(pieces, { maxLength: 2 }), content: fc.array(pieces, { maxLength: 2 }) })
  .map(
    ({ summary, content }) =>
      (index: number): Story => ({
        item: {
          type: "reasoning",
          id: `rs_${index}`,
          status: "completed",
          summary: summary.map((texts) => ({ type: "summary_text", text: texts.join("") })),
          content: content.map((texts) => ({ type: "reasoning_text", text: texts.join("") })),
        },
        deltas: [
          ...summary.flatMap((texts, part) =>
            texts.map((delta) => ({ type: "summary.delta" as const, index, part, delta })),
          ),
          ...content.flatMap((texts, part) =>
            texts.map((delta) => ({ type: "reasoning.delta" as const, index, part, delta })),
          ),
        ],
      }),
  );

const callStory = pieces.map(
  (texts) =>
    (index: number): Story => ({
      item: {
        type: "function_call",
        id: `fc_${index}`,
        call_id: `call_${index}`,
        name: "f",
        arguments: texts.join(""),
        status: "completed",
      },
      deltas: texts.map((delta) => ({ type: "arguments.delta", index, delta })),
    }),
);

const turns = fc
  .array(fc.oneof(messageStory, reasoningStory, callStory), { maxLength: 4 })
  .map((stories) => stories.map((story, index) => story(index)));

const begin = ({ item }: Story, index: number): TurnEvent => ({
  type: "item.start",
  index,
  item: { ...item, status: "in_progress", content: [], ...(item.type === "function_call" && { arguments: "" }) },
});

const end: TurnEvent = {
  type: "end",
  outcome: {
    status: "completed",
    serviceTier: "default",
    usage: { inputTokens: 3, outputTokens: 4, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  },
};

const eventsOf = (stories: readonly Story[]): TurnEvent[] => [
  { type: "start", model: "acme/served" },
  ...stories.flatMap((story, index) => [
    begin(story, index),
    ...story.deltas,
    { type: "item.end" as const, index, item: story.item },
  ]),
];

const wire = (events: readonly TurnEvent[]) => toWire(events, () => new Uint8Array()).events;

function cutAt<T>(list: readonly T[], cuts: readonly number[]): T[][] {
  const borders = [...new Set([0, ...cuts.map((cut) => cut % (list.length + 1)), list.length])].sort((a, b) => a - b);
  return borders.slice(1).map((border, position) => list.slice(borders[position], border));
}

const named = (events: readonly SseEvent[], type: string) => events.filter((event) => event.type === type);

describe("the Responses stream of a turn", () => {
  test("is in the required order for any batches, and folds into the object", () => {
    fc.assert(
      fc.property(turns, fc.array(fc.nat()), (stories, cuts) => {
        const events = wire([...eventsOf(stories), end]);
        const ladder = new Ladder(object());
        const stream = parseSse(
          cutAt(events, cuts)
            .map((batch) => ladder.events(batch))
            .join(""),
        );
        expect(stream.done).toBe(true);
        expect(stream.events.map((event) => event.sequence_number)).toEqual(stream.events.map((_, index) => index));
        expect(stream.events.slice(0, 2).map((event) => event.type)).toEqual([
          "response.created",
          "response.in_progress",
        ]);
        expect(stream.events.at(-1)?.type).toBe("response.completed");
        expect(named(stream.events, "response.output_item.added").map((event) => event["output_index"])).toEqual(
          stories.map((_, index) => index),
        );
        for (const [index, { item }] of stories.entries()) expect(folded(stream.events, index)).toEqual(item);
        const whole = object();
        for (const { event } of events) whole.apply(event);
        const last = stream.events.at(-1)?.["response"] as Record<string, unknown>;
        const answer = JSON.parse(whole.terminal()?.json ?? "null") as Record<string, unknown>;
        expect({ ...last, completed_at: 0 }).toEqual({ ...answer, completed_at: 0 });
        expect(last["model"]).toBe("acme/served");
      }),
      { numRuns: 300 },
    );
  });

  test("ends in exactly one response.failed with the delivered items after a failure at any point", () => {
    fc.assert(
      fc.property(turns, fc.nat(), (stories, cut) => {
        const events = eventsOf(stories);
        const delivered = events.slice(0, cut % (events.length + 1));
        const ladder = new Ladder(object());
        const text = ladder.events(wire(delivered)) + ladder.failed(new Fault(FaultReason.PROVIDER_FAILED));
        const stream = parseSse(text);
        expect(stream.done).toBe(true);
        expect(stream.events.map((event) => event.sequence_number)).toEqual(stream.events.map((_, index) => index));
        expect(named(stream.events, "response.failed")).toHaveLength(1);
        const response = stream.events.at(-1)?.["response"] as { output: OutputItem[]; error_type: string };
        expect(response.error_type).toBe("provider_unavailable");
        const begun = named(stream.events, "response.output_item.added");
        const finished = named(stream.events, "response.output_item.done");
        expect(response.output).toHaveLength(begun.length);
        for (const item of response.output.slice(finished.length)) expect(item["status"]).toBe("incomplete");
        expect(textOf(response.output)).toBe(
          stream.events.map((event) => (event.type.endsWith(".delta") ? String(event["delta"]) : "")).join(""),
        );
      }),
      { numRuns: 300 },
    );
  });

  test("is never shown as complete without an end of the turn", () => {
    const whole = object();
    for (const { event } of wire(eventsOf([]))) whole.apply(event);
    expect(whole.terminal()).toBeUndefined();
  });

  test("shows members of an item beyond its deltas before the item is done", () => {
    const item: OutputItem = {
      type: "message",
      id: "msg_0",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "whole", annotations: [], logprobs: [] }],
    };
    const ladder = new Ladder(object());
    const events: TurnEvent[] = [
      { type: "item.start", index: 0, item: { ...item, status: "in_progress", content: [] } },
      { type: "text.delta", index: 0, part: 0, delta: "who" },
      { type: "item.end", index: 0, item },
    ];
    const stream = parseSse(ladder.events(wire(events)));
    expect(named(stream.events, "response.output_text.delta").map((event) => event["delta"])).toEqual(["who", "le"]);
  });
});

/** The item as rebuilt from its deltas by a client. */
function folded(events: readonly SseEvent[], index: number): unknown {
  const mine = events.filter((event) => event["output_index"] === index);
  const done = named(mine, "response.output_item.done");
  expect(done).toHaveLength(1);
  const item = done[0]?.["item"] as OutputItem;
  const deltas = mine.map((event) => (event.type.endsWith(".delta") ? String(event["delta"]) : "")).join("");
  expect(deltas).toBe(textOf([item]));
  for (const added of mine.filter((event) => event.type.endsWith("part.added"))) {
    const position = mine.indexOf(added);
    const closed = mine.findIndex((event, at) => at > position && event.type === added.type.replace("added", "done"));
    expect(closed).toBeGreaterThan(position);
  }
  return item;
}

/** The texts of all items, in streaming order. */
function textOf(items: readonly OutputItem[]): string {
  const parts = (value: unknown) =>
    ((value as { text?: string; refusal?: string }[] | undefined) ?? [])
      .map((part) => part.text ?? part.refusal ?? "")
      .join("");
  return items
    .map((item) => parts(item["summary"]) + parts(item["content"]) + ((item["arguments"] as string | undefined) ?? ""))
    .join("");
}
