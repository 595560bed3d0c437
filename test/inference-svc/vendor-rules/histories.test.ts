/** Random histories, as clients and other gateways leave them, must reach each vendor in a form that the vendor takes. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import fc from "../../support/properties.ts";
import { findConverseViolations } from "../../support/providers/rules/converse.ts";
import { findMessagesViolations } from "../../support/providers/rules/messages.ts";
import { functionTool } from "../asking.js";
import { buildConverseBody } from "../dialects/converse-translation.js";
import { buildMessagesBody } from "../dialects/messages-translation.js";

const words = fc.constantFrom("Hi", "", " ", "\n", "Sure: ", "<thinking>\n", "All done.");
const mark = fc.constantFrom({}, {}, {}, { cache_control: { type: "ephemeral" } });
const toolNames = fc.constantFrom(
  "f",
  "x<|channel|>json",
  "$READFILE",
  "default_api:Bash",
  "search.evidence",
  "",
  "n".repeat(200),
);
const callIds = fc.constantFrom("call_1", "toolu_2", "call|fc", "functions.f:0", "x".repeat(90), "a b");

const partsOf = (type: string) => fc.array(fc.record({ type: fc.constant(type), text: words }), { maxLength: 2 });
const contentOf = (type: string) => fc.oneof(words, partsOf(type));

const prompt = fc.record({
  type: fc.constant("message"),
  role: fc.constantFrom("user", "user", "system", "developer"),
  content: contentOf("input_text"),
});
const answer = fc.record({
  type: fc.constant("message"),
  role: fc.constant("assistant"),
  content: contentOf("output_text"),
});
/** Calls of one answer with their results, in any order. */
const exchange = fc
  .uniqueArray(callIds, { minLength: 1, maxLength: 3 })
  .chain((ids) =>
    fc.tuple(fc.constant(ids), toolNames, fc.shuffledSubarray(ids, { minLength: ids.length }), words, mark),
  )
  .map(([ids, name, order, output, marked]) => [
    ...ids.map((id) => ({ type: "function_call", call_id: id, name, arguments: "{}" })),
    ...order.map((id, index) => ({
      type: "function_call_output",
      call_id: id,
      output: [{ type: "input_text", text: output, ...(index === 0 && marked) }],
    })),
  ]);

/**
 * At most four exchanges, because a fifth mark is refused. Each has ids of its own. A conversation without any text keeps the provider's own
 * 400, so each ends with or has one.
 */
const histories = fc
  .array(
    fc.oneof(
      prompt.map((item) => [item]),
      answer.map((item) => [item]),
      exchange,
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((turns) => turns.flatMap((items, turn) => items.map((item) => withOwnId(item, turn))))
  .filter((input) => /Hi|Sure|think|done/.test(JSON.stringify(input)));

function withOwnId(item: InputItem, turn: number): InputItem {
  return typeof item.call_id === "string" ? { ...item, call_id: `${item.call_id}${turn}` } : item;
}

const tools = [functionTool({ name: "f", parametersJson: '{"type":"object","properties":{}}' })];

describe("a random history", () => {
  test("reaches Anthropic in a form that it takes", () => {
    fc.assert(
      fc.property(histories, (input) => {
        expect(findMessagesViolations(buildMessagesBody({ input, tools }))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("reaches Bedrock in a form that it takes", () => {
    fc.assert(
      fc.property(histories, (input) => {
        expect(findConverseViolations(buildConverseBody({ input, tools }))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
