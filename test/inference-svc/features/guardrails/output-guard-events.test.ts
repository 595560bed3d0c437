/** Unknown events of a provider with a text in pieces: no part of a match is delivered in any of them, whatever other fields they have. */
import { describe, expect, test } from "@jest/globals";
import type { Batch, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import {
  blockFilter,
  itemEnd,
  flagFilter,
  runGuarded,
  outputMessage,
  turnEnd,
  redactFilter,
  itemStart,
  textDeltaEvent,
} from "./gating.js";
import { itemAddedEvent, completedEvent, readGuarded } from "./reading.js";

const item = { type: "later", id: "l" };

const native = (payload: object, name = "response.x.delta", index?: number): TurnEvent => ({
  type: "native",
  name,
  payloadJson: JSON.stringify(payload),
  ...(index !== undefined && { index }),
});

const inItem = (payloads: readonly object[]): Batch[] => [
  [itemStart(0, item)],
  ...payloads.map((payload) => [native(payload, "response.x.delta", 0)]),
  [itemEnd(0, item), turnEnd],
];
const inNone = (payloads: readonly object[]): Batch[] => [
  [itemStart(0, outputMessage())],
  ...payloads.map((payload) => [native(payload)]),
  [textDeltaEvent("well")],
  [itemEnd(0, outputMessage("well")), turnEnd],
];

const payloadsOf = (events: readonly TurnEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === "native" ? [JSON.parse(event.payloadJson) as unknown] : []));

const cut = { status: "incomplete", reason: "content_filter", serviceTier: "default" };
const pieces = ["so ", "it is sec", "re", "t or", " not"];

describe.each([
  ["of an item", inItem],
  ["of none", inNone],
])("texts in a provider's unknown events %s", (_, batches) => {
  test.each<[string, (delta: string, at: number) => object]>([
    ["pieces without other fields", (delta) => ({ delta })],
    ["pieces with a constant field", (delta) => ({ delta, kind: "a" })],
    ["pieces with a counter", (delta, at) => ({ delta, number: at })],
    ["pieces with a time", (delta, at) => ({ delta, at: 1_700_000_000 + Math.floor(at / 2) })],
  ])("are scanned in %s", async (_name, payloadOf) => {
    const payloads = pieces.map(payloadOf);
    const { events, stages } = await runGuarded(batches(payloads), [redactFilter("secret")]);
    expect(payloadsOf(events)).toEqual([payloads[0], payloads[4]]);
    expect(events.at(-1)).toEqual(turnEnd);
    expect(stages).toMatchObject([{ data: { action: "redacted", counts: { secret: 1 } } }]);
    const { events: given } = await runGuarded(batches(payloads), [blockFilter("secret")]);
    expect([payloadsOf(given), given.at(-1)]).toEqual([[], { ...turnEnd, outcome: cut }]);
  });

  test("are read separately when they are adjacent", async () => {
    const payloads = pieces.flatMap((delta) => [
      { model: "a", delta },
      { model: "b", delta: "se" },
    ]);
    const { events } = await runGuarded(batches(payloads), [redactFilter("secret")]);
    expect(payloadsOf(events)).toEqual(payloads.filter(({ delta }) => !/ec|re|t or/.test(delta)));
  });

  test("are redacted for a match within a single text", async () => {
    const { events } = await runGuarded(batches([{ delta: "a secret" }, { delta: " b" }]), [
      redactFilter("secret", "<s>"),
    ]);
    expect(payloadsOf(events)).toEqual([{ delta: "a <s>" }, { delta: " b" }]);
  });
});

describe.each([
  ["of an item", inItem],
  ["of none", inNone],
])("a text in any field of unknown events %s", (_, batches) => {
  test.each<[string, (piece: string, at: number) => object]>([
    ["under another name", (text) => ({ text })],
    ["under a name of a later version", (later) => ({ later_text: later })],
    ["within a nested object", (text) => ({ part: { deep: [{ text }] } })],
    ["in a list that grows", (text, at) => ({ parts: [...Array.from({ length: at }, () => null), { text }] })],
    ["next to another text", (text, at) => ({ text, other: `o${at % 2}` })],
    ["without a name", (text) => ({ list: [text] })],
  ])("is scanned %s", async (_name, payloadOf) => {
    const payloads = pieces.map(payloadOf);
    const { events } = await runGuarded(batches(payloads), [redactFilter("secret")]);
    expect(payloadsOf(events)).toEqual([payloads[0], payloads[4]]);
    const { events: given } = await runGuarded(batches(payloads), [blockFilter("secret")]);
    expect([payloadsOf(given), given.at(-1)]).toEqual([[], { ...turnEnd, outcome: cut }]);
  });

  test("is not joined when every event repeats it", async () => {
    const payloads = pieces.map((delta) => ({ delta, voice: "ab" }));
    const { events } = await runGuarded(batches(payloads), [redactFilter("baba", "<s>")]);
    expect(payloadsOf(events)).toEqual(payloads);
  });
});

describe.each([0, undefined])("the name of an unknown event, of item %s", (index) => {
  const named = (...names: readonly string[]): Batch[] => [
    [itemStart(0, outputMessage())],
    [...names.map((name) => native({}, name, index)), textDeltaEvent("well")],
    [itemEnd(0, outputMessage("well")), turnEnd],
  ];

  test("is dropped when it matches a rule", async () => {
    const names = ["response.x.begun", "response.secret.delta", "response.x.a_secret_step", "response.x.over"];
    const { events } = await runGuarded(named(...names), [redactFilter("secret")]);
    expect(events.flatMap((event) => (event.type === "native" ? [event.name] : []))).toEqual([names[0], names[3]]);
    const { fault, events: given } = await runGuarded(named(...names), [blockFilter("secret")]);
    expect(JSON.stringify(given)).not.toContain("secret");
    expect(fault?.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
  });

  test("is not scanned if it is a name of the contract", async () => {
    const { events } = await runGuarded(named("response.web_search_call.searching"), [blockFilter("search")]);
    expect([events.length, events.at(-1)]).toEqual([5, turnEnd]);
  });
});

describe("images under an output guardrail", () => {
  const png = `iVBORw0KGgo${"A".repeat(40)}secret`;
  const drawn = (result: unknown) => ({ type: "image_generation_call", id: "ig_1", status: "completed", result });

  test.each([png, `/9j/${"A".repeat(40)}secret`, `data:image/png;base64,${png}`, "AAAAIGZ0eXBhdmlmsecret"])(
    "are not scanned as text: %s",
    async (image) => {
      const partial = native({ partial_image_b64: image }, "response.image_generation_call.partial_image", 0);
      const batches = [
        [itemStart(0, drawn(null)), partial, partial],
        [itemEnd(0, drawn(image)), turnEnd],
      ];
      const { events, fault } = await runGuarded(batches, [blockFilter("secret")]);
      expect([events, fault]).toEqual([batches.flat(), undefined]);
    },
  );

  test.each(["a secret", "secret", "https://a.example/secret.png", "data:text/plain,secret", ["secret"]])(
    "are scanned as text with another result than an image: %j",
    async (result) => {
      const partial = native({ partial_image_b64: result }, "response.image_generation_call.partial_image", 0);
      for (const batch of [
        [itemStart(0, drawn(null)), itemEnd(0, drawn(result)), turnEnd],
        [itemStart(0, drawn(null)), partial, itemEnd(0, drawn(null)), turnEnd],
      ]) {
        const { events } = await runGuarded([batch], [redactFilter("secret", "<s>")]);
        expect(JSON.stringify(events)).toContain("<s>");
        expect(JSON.stringify(events)).not.toContain("secret");
        const { events: given } = await runGuarded([batch], [blockFilter("secret")]);
        expect(JSON.stringify(given)).not.toContain("secret");
      }
    },
  );
});

test("unknown events after a text in pieces stay behind it", async () => {
  const { events } = await runGuarded(
    [
      [
        itemStart(0, outputMessage()),
        native({ delta: "a" }),
        native({ all: "ab" }, "response.x.done"),
        textDeltaEvent("well"),
      ],
      [turnEnd],
    ],
    [redactFilter("secret")],
  );
  expect(events.map(({ type }) => type)).toEqual(["item.start", "text.delta", "native", "native", "end"]);
  expect(payloadsOf(events)).toEqual([{ delta: "a" }, { all: "ab" }]);
});

describe("the provider's body in an answer", () => {
  const told = { messages: [{ role: "user", content: "a secret" }], n: 1 };
  const turn: Batch[] = [
    [{ type: "debug", bodyJson: JSON.stringify(told) }],
    [itemStart(0, outputMessage())],
    [textDeltaEvent("well"), itemEnd(0, outputMessage("well")), turnEnd],
  ];
  const echoes = (events: readonly TurnEvent[]) =>
    events.flatMap((event) => (event.type === "debug" ? [JSON.parse(event.bodyJson) as unknown] : []));

  test("is shown redacted", async () => {
    const { events, stages } = await runGuarded(turn, [redactFilter("secret", "<s>")]);
    expect(echoes(events)).toEqual([{ messages: [{ role: "user", content: "a <s>" }], n: 1 }]);
    // The receipt only reports matches in the answer.
    expect(stages).toEqual([]);
  });

  test("is hidden with a blocked match, and blocks nothing", async () => {
    const { events, fault, stages } = await runGuarded(turn, [blockFilter("secret")]);
    expect([echoes(events), fault, stages]).toEqual([[], undefined, []]);
    expect(events.at(-1)).toEqual(turnEnd);
  });

  test("is shown unchanged without a match, or if rules only report", async () => {
    expect(echoes((await runGuarded(turn, [blockFilter("other")])).events)).toEqual([told]);
    expect(echoes((await runGuarded(turn, [flagFilter("secret")])).events)).toEqual([told]);
  });
});

test("padding in deltas, which hides their length, is removed by an output guardrail", () => {
  const { events } = readGuarded([
    itemAddedEvent(0, item),
    { type: "response.x.delta", output_index: 0, item_id: "l", delta: "a", obfuscation: "k3" },
    completedEvent([]),
  ]);
  expect(payloadsOf(events)).toEqual([{ delta: "a" }]);
});

test("log probabilities of tokens that are not delivered cause no block", async () => {
  const [part] = outputMessage("a").content as object[];
  const said = {
    ...outputMessage("a"),
    content: [{ ...part, logprobs: [{ token: "a", top_logprobs: [{ token: "secret" }] }] }],
  };
  const { events, stages } = await runGuarded(
    [
      [itemStart(0, outputMessage()), textDeltaEvent("a")],
      [itemEnd(0, said), turnEnd],
    ],
    [blockFilter("secret")],
  );
  expect([events.at(-1), stages]).toEqual([turnEnd, []]);
  expect(JSON.stringify(events)).not.toContain("secret");
});
