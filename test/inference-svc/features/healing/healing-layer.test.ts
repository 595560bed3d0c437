/** Answers on their way through response-healing: which part is repaired, what moves with it, and what the receipt shows. */
import { WholeAnswer } from "@sluice/inference-svc/turn/answer-kinds.js";
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { healAnswers } from "@sluice/inference-svc/features/healing/feature.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Batch, OutputItem, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { ResponseHealingPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";
import { itemEnd, itemAt, outputMessage, turnEnd } from "../guardrails/gating.js";

const asked: Partial<TurnRequest> = {
  stream: false,
  textFormat: { type: "json_object" },
  plugins: { responseHealing: create(ResponseHealingPluginSchema) },
};

/** Runs an answer through the layer, and returns it with the pipeline stage. */
async function healed(events: Batch, more: Partial<TurnRequest> = {}) {
  const turn = newScope();
  const ending = await runTestTurn(
    healAnswers(() => new WholeAnswer(events)),
    testRequest({ ...asked, ...more }),
    turn,
  );
  return { ...ending, stages: turn.scope.trace.stages };
}

const whole = (...items: readonly OutputItem[]): TurnEvent[] => [
  { type: "start", model: "acme/large-2" },
  ...items.map((item, index) => itemEnd(index, item)),
  turnEnd,
];

const texts = (item: OutputItem | undefined): unknown[] =>
  ((item?.["content"] ?? []) as { text?: string }[]).map(({ text }) => text);

const fenced = '```json\n{"a": 1}\n```';

describe("response healing of the text of an answer", () => {
  test("repairs it, with the method in the receipt", async () => {
    const { events, stages } = await healed(whole(outputMessage(fenced)));
    expect(texts(itemAt(events))).toEqual(['{"a": 1}']);
    expect(stages).toEqual([
      {
        type: "response_healing",
        name: "response-healing",
        summary: "Healed: extracted",
        data: { mode: "json_object", improved: true, original_length: 20, healed_length: 8, how: "extracted" },
      },
    ]);
  });

  test.each([
    ["is right", '{"a" :1.0}'],
    ["is empty", ""],
  ])("passes it unchanged when it %s, and leaves no stage", async (_, text) => {
    const said = whole(outputMessage(text));
    const { events, stages } = await healed(said);
    expect(events.at(1)).toBe(said.at(1));
    expect(stages).toEqual([]);
  });

  test("passes it unchanged beyond repair, with the reason in the receipt", async () => {
    const said = whole(outputMessage("I cannot."));
    const { events, stages } = await healed(said);
    expect(events.at(1)).toBe(said.at(1));
    expect(stages).toMatchObject([
      { summary: "Left as it is: no JSON was found in it", data: { improved: false, how: "unrepairable" } },
    ]);
  });

  test("does not repair a text cut off by the provider", async () => {
    const cut: TurnEvent = {
      type: "end",
      outcome: { status: "incomplete", reason: "max_output_tokens", serviceTier: "default" },
    };
    const said = [...whole(outputMessage(fenced)).slice(0, -1), cut];
    const { events, stages } = await healed(said);
    expect(events.at(1)).toBe(said.at(1));
    expect(stages).toMatchObject([{ data: { improved: false, how: "truncated" } }]);
  });

  test("joins it over several parts, with its annotations", async () => {
    const cite = (start_index: number, end_index: number) => ({
      type: "url_citation",
      url: "u",
      start_index,
      end_index,
    });
    const item = outputMessage("\u{1f600}: ", '{"a": "b', '", "c": "d",}!');
    const parts = item["content"] as { annotations: unknown[] }[];
    parts[0]!.annotations.push(cite(0, 1));
    parts[1]!.annotations.push(cite(7, 8), { type: "file_path", file_id: "f" });
    parts[2]!.annotations.push(cite(9, 10), cite(11, 13));
    const { events } = await healed(whole(item));
    // Annotations of removed words are gone; the others point to the same words as before.
    expect(itemAt(events)?.["content"]).toEqual([
      {
        type: "output_text",
        text: '{"a": "b", "c": "d"}',
        annotations: [cite(7, 8), { type: "file_path", file_id: "f" }, cite(17, 18)],
        logprobs: [],
      },
    ]);
  });

  test("repairs the last message's text, after any other items", async () => {
    const reasoning: OutputItem = { type: "reasoning", id: "rs_1", summary: [] };
    const { events } = await healed(whole(outputMessage("Let me see."), reasoning, outputMessage(fenced)));
    const items = events.flatMap((event) => (event.type === "item.end" ? [event.item] : []));
    expect([texts(items[0]), texts(items[2])]).toEqual([["Let me see."], ['{"a": 1}']]);
  });

  test("ignores texts before a call and in a refusal", async () => {
    const call: OutputItem = { type: "function_call", id: "fc_1", call_id: "c", name: "f", arguments: "{}" };
    const refusal: OutputItem = { ...outputMessage(), content: [{ type: "refusal", refusal: "No." }] };
    for (const said of [whole(outputMessage(fenced), call), whole(refusal)]) {
      const { events, stages } = await healed(said);
      expect([events, stages]).toEqual([said, []]);
    }
  });

  test("makes it fit the schema, or leaves it", async () => {
    const schemaJson = '{"type":"object","properties":{"a":{"type":"string"}}}';
    const textFormat = { type: "json_schema", name: "s", schemaJson } as const;
    const { stages } = await healed(whole(outputMessage(fenced)), { textFormat });
    expect(stages).toMatchObject([{ data: { mode: "json_schema", improved: false, how: "unfit" } }]);
    const elsewhere = { ...textFormat, schemaJson: '{"$ref":"https://example.com/s"}' };
    const { stages: unchecked } = await healed(whole(outputMessage(fenced)), { textFormat: elsewhere });
    expect(unchecked).toMatchObject([{ data: { improved: false, how: "schema" } }]);
  });

  test("skips a text that is too long", async () => {
    const { stages } = await healed(whole(outputMessage(`x${" ".repeat(1024 * 1024)}`)));
    expect(stages).toMatchObject([{ data: { improved: false, how: "too_long" } }]);
  });
});

test.each<[string, Partial<TurnRequest>]>([
  ["a stream", { stream: true }],
  ["text", { textFormat: { type: "text" } }],
  ["nobody asked", { plugins: {} }],
])("response healing does not repair an answer: %s", async (_, more) => {
  const said = whole(outputMessage(fenced));
  const { events, stages } = await healed(said, more);
  expect([events, stages]).toEqual([said, []]);
});
