/** A provider's own events that carry a text in pieces: nothing of a match goes out with any of them, whatever else they say. */
import { describe, expect, test } from "@jest/globals";
import type { Batch, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { block, end, flag, gated, message, over, redact, start, text } from "./gating.js";
import { added, completed, read } from "./reading.js";

const item = { type: "later", id: "l" };

const native = (payload: object, name = "response.x.delta", index?: number): TurnEvent => ({
  type: "native",
  name,
  payloadJson: JSON.stringify(payload),
  ...(index !== undefined && { index }),
});

const inItem = (payloads: readonly object[]): Batch[] => [
  [start(0, item)],
  ...payloads.map((payload) => [native(payload, "response.x.delta", 0)]),
  [end(0, item), over],
];
const inNone = (payloads: readonly object[]): Batch[] => [
  [start(0, message())],
  ...payloads.map((payload) => [native(payload)]),
  [text("well")],
  [end(0, message("well")), over],
];

const payloadsOf = (events: readonly TurnEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === "native" ? [JSON.parse(event.payloadJson) as unknown] : []));

const cut = { status: "incomplete", reason: "content_filter", serviceTier: "default" };
const pieces = ["so ", "it is sec", "re", "t or", " not"];

describe.each([
  ["of an item", inItem],
  ["of none", inNone],
])("%s", (_, batches) => {
  test.each<[string, (delta: string, at: number) => object]>([
    ["pieces alone", (delta) => ({ delta })],
    ["beside what stays the same", (delta) => ({ delta, kind: "a" })],
    ["beside a number that counts them", (delta, at) => ({ delta, number: at })],
    ["beside a time", (delta, at) => ({ delta, at: 1_700_000_000 + Math.floor(at / 2) })],
  ])("%s", async (_name, payloadOf) => {
    const payloads = pieces.map(payloadOf);
    const { events, stages } = await gated(batches(payloads), [redact("secret")]);
    expect(payloadsOf(events)).toEqual([payloads[0], payloads[4]]);
    expect(events.at(-1)).toEqual(over);
    expect(stages).toMatchObject([{ data: { action: "redacted", counts: { secret: 1 } } }]);
    const { events: given } = await gated(batches(payloads), [block("secret")]);
    expect([payloadsOf(given), given.at(-1)]).toEqual([[], { ...over, outcome: cut }]);
  });

  test("texts beside each other are read each by itself", async () => {
    const payloads = pieces.flatMap((delta) => [
      { model: "a", delta },
      { model: "b", delta: "se" },
    ]);
    const { events } = await gated(batches(payloads), [redact("secret")]);
    expect(payloadsOf(events)).toEqual(payloads.filter(({ delta }) => !/ec|re|t or/.test(delta)));
  });

  test("what one of them shows by itself is redacted in it", async () => {
    const { events } = await gated(batches([{ delta: "a secret" }, { delta: " b" }]), [redact("secret", "<s>")]);
    expect(payloadsOf(events)).toEqual([{ delta: "a <s>" }, { delta: " b" }]);
  });
});

test("what comes behind a text in pieces stays behind it", async () => {
  const { events } = await gated(
    [[start(0, message()), native({ delta: "a" }), native({ all: "ab" }, "response.x.done"), text("well")], [over]],
    [redact("secret")],
  );
  expect(events.map(({ type }) => type)).toEqual(["item.start", "text.delta", "native", "native", "end"]);
  expect(payloadsOf(events)).toEqual([{ delta: "a" }, { all: "ab" }]);
});

describe("what a provider was told, as a request may ask to see it", () => {
  const told = { messages: [{ role: "user", content: "a secret" }], n: 1 };
  const turn: Batch[] = [
    [{ type: "debug", bodyJson: JSON.stringify(told) }],
    [start(0, message())],
    [text("well"), end(0, message("well")), over],
  ];
  const echoes = (events: readonly TurnEvent[]) =>
    events.flatMap((event) => (event.type === "debug" ? [JSON.parse(event.bodyJson) as unknown] : []));

  test("is shown without what is redacted", async () => {
    const { events, stages } = await gated(turn, [redact("secret", "<s>")]);
    expect(echoes(events)).toEqual([{ messages: [{ role: "user", content: "a <s>" }], n: 1 }]);
    // The receipt tells what was done to the answer.
    expect(stages).toEqual([]);
  });

  test("is not shown where something in it is blocked, and blocks nothing", async () => {
    const { events, fault, stages } = await gated(turn, [block("secret")]);
    expect([echoes(events), fault, stages]).toEqual([[], undefined, []]);
    expect(events.at(-1)).toEqual(over);
  });

  test("is shown as it was where nothing is found, or rules only report", async () => {
    expect(echoes((await gated(turn, [block("other")])).events)).toEqual([told]);
    expect(echoes((await gated(turn, [flag("secret")])).events)).toEqual([told]);
  });
});

test("what hides the length of a provider's deltas does not pass", () => {
  const { events } = read([
    added(0, item),
    { type: "response.x.delta", output_index: 0, item_id: "l", delta: "a", obfuscation: "k3" },
    completed([]),
  ]);
  expect(payloadsOf(events)).toEqual([{ delta: "a" }]);
});

test("tokens that nobody gets block nothing", async () => {
  const [part] = message("a").content as object[];
  const said = {
    ...message("a"),
    content: [{ ...part, logprobs: [{ token: "a", top_logprobs: [{ token: "secret" }] }] }],
  };
  const { events, stages } = await gated(
    [
      [start(0, message()), text("a")],
      [end(0, said), over],
    ],
    [block("secret")],
  );
  expect([events.at(-1), stages]).toEqual([over, []]);
  expect(JSON.stringify(events)).not.toContain("secret");
});
