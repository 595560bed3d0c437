/** The chat messages of a conversation are the same with remembered earlier steps and without. */
import { expect, test } from "@jest/globals";
import { measureInput } from "@sluice/inference-svc/models/estimate/tokens.js";
import { knownItemsOf } from "@sluice/inference-svc/turn/parse/beginnings.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { parseTurnRequest } from "../../../support/answers/parse-turn-request.js";
import fc, { codePoint } from "../../../support/properties.js";

const targets: readonly Target[] = [
  { upstreamModel: "large", tier: "default", original: true },
  { upstreamModel: "large", tier: "default", original: false },
  {
    upstreamModel: "large",
    tier: "default",
    original: false,
    supportedParameters: ["cache_control", "reasoning_content", "reasoning_details.anthropic-claude-v1"],
  },
];

const text = fc.oneof(
  fc.constantFrom("", "word", 'quote " and \\ and /', "line\nline\u0000\u2028", "Grüße 🙂", "\u007f\u0080ÿ"),
  fc.string({ unit: codePoint, maxLength: 12 }),
);
/** Id of a call; "other" is rarely the id of an earlier one. */
const id = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom("a", "b") },
  { weight: 1, arbitrary: fc.constant("other") },
);
const mark = fc.option(
  fc.constantFrom({ cache_control: { type: "ephemeral" } }, { prompt_cache_breakpoint: { mode: "explicit" } }),
  {
    freq: 6,
  },
);
const part = (type: string) => fc.tuple(text, mark).map(([value, marked]) => ({ type, text: value, ...marked }));
const content = (type: string) => fc.oneof(text, fc.array(part(type), { maxLength: 3 }));

const item = fc.oneof(
  fc.record({ role: fc.constantFrom("user", "developer", "system"), content: content("input_text") }),
  fc.record({ role: fc.constant("user"), content: content("input_text"), name: fc.constant("ann") }),
  fc.record({ role: fc.constant("assistant"), content: content("output_text"), phase: fc.constant("commentary") }),
  fc.record({
    role: fc.constant("assistant"),
    content: fc.array(fc.record({ type: fc.constant("refusal"), refusal: text }), { maxLength: 2 }),
  }),
  fc.record({ type: fc.constant("function_call"), call_id: id, name: fc.constantFrom("f", "g"), arguments: text }),
  fc.record({ type: fc.constant("function_call_output"), call_id: id, output: content("input_text") }),
  fc.record({ type: fc.constant("custom_tool_call"), call_id: id, name: fc.constant("c"), input: text }),
  fc.record({ type: fc.constant("custom_tool_call_output"), call_id: id, output: text }),
  fc.record({
    type: fc.constant("reasoning"),
    summary: fc.constant([]),
    content: fc.array(fc.record({ type: fc.constant("reasoning_text"), text }), { maxLength: 2 }),
    format: fc.constantFrom("unknown", "anthropic-claude-v1"),
  }),
  fc.constant({ role: "user", content: [{ type: "input_image", image_url: "https://a.example/a.png" }] }),
);

/** A text long enough for the message to be remembered, in calls that other messages answer. */
const opening = [
  ...["a", "b"].flatMap((callId) => [
    { type: "function_call", call_id: callId, name: "f", arguments: "{}" },
    { type: "custom_tool_call", call_id: callId, name: "c", input: "" },
  ]),
  ...Array.from({ length: 3 }, (_, index) => ({ role: "user", content: `${index} ${"word ".repeat(150)}` })),
];

/** Servers of no known vendor get the first prompts as one. */
const prompts = fc.constantFrom(
  [],
  [{ role: "system", content: "s" }],
  [
    { role: "system", content: "s" },
    { role: "developer", content: [{ type: "input_text", text: "d" }] },
  ],
);

const settings = fc.record({
  instructions: fc.option(text, { nil: undefined }),
  cache_control: fc.constantFrom(...Array.from({ length: 7 }, () => undefined), { type: "ephemeral" }),
  tools: fc.constantFrom(undefined, [{ type: "function", name: "f", parameters: null, strict: null }]),
});

/** A step continues the first items of the step before. */
const step = fc.record({
  kept: fc.double({ min: 0.5, max: 1, noNaN: true }),
  added: fc.array(item, { maxLength: 4 }),
  settings,
});

/** The body with the fields dropped for the target, and the size of the input; or all problems. */
function sayAll(
  body: object,
  target: Target,
  owner?: string,
): { readonly said: readonly unknown[]; readonly known: number } {
  try {
    const turn = parseTurnRequest(body, owner === undefined ? {} : { owner });
    const dropped: string[] = [];
    const note = (path: string, reason: string) => dropped.push(`${path}: ${reason}`);
    const sent = chat.refusal(turn, target) ?? chat.body(turn, target, note);
    return { said: [sent, dropped, measureInput(turn)], known: knownItemsOf(turn.input)?.length ?? 0 };
  } catch (error) {
    if (error instanceof Fault) return { said: [error.message, error.metadata], known: 0 };
    throw error;
  }
}

test("a continued or changed conversation gives the same body as without memory of the earlier one", () => {
  let conversations = 0;
  let repeated = 0;
  fc.assert(
    // Messages of a conversation are cached for one target.
    fc.property(
      fc.constantFrom(...targets),
      prompts,
      fc.array(step, { minLength: 1, maxLength: 6 }),
      (target, first, steps) => {
        const owner = `key ${conversations++}`;
        const start = [...first, ...opening];
        let items: readonly object[] = start;
        for (const { kept, added, settings: others } of steps) {
          items = [...items.slice(0, Math.max(start.length, Math.ceil(items.length * kept))), ...added];
          const body = { ...others, input: items };
          const { said } = sayAll(body, target);
          const again = sayAll(body, target, owner);
          expect(again.said).toEqual(said);
          if (again.known > 0) repeated++;
          expect(sayAll(body, target, owner).said).toEqual(said);
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(repeated).toBeGreaterThan(200);
});

test("a further result of a call reaches the provider although its first result was remembered", () => {
  const result = (output: string) => ({ type: "function_call_output", call_id: "call", output });
  const call = { type: "function_call", call_id: "call", name: "f", arguments: "{}" };
  const first = [...opening.slice(-3), call, result("one")];
  const prompted = [...first, { role: "user", content: "u" }];
  for (const [index, target] of targets.entries()) {
    for (const [order, steps] of [
      [first, [...first, result("two")], prompted],
      [first, prompted, [...first, result("two")], prompted, first],
    ].entries()) {
      for (const input of steps)
        for (const owner of [`results ${index} ${order}`, `results ${index} ${order}`])
          expect(sayAll({ input }, target, owner).said).toEqual(sayAll({ input }, target).said);
    }
  }
});

test("a prompt without other messages is sent as the user's, and as the system's once a message follows", () => {
  const alone = Array.from({ length: 4 }, (_, index) => ({
    role: "system",
    content: `${index} ${"word ".repeat(150)}`,
  }));
  const steps = [alone.slice(0, 1), alone, [...alone, { role: "user", content: "u" }], alone];
  for (const [index, target] of targets.entries()) {
    for (const input of steps) {
      for (const owner of [undefined, `prompts ${index}`, `prompts ${index}`]) {
        const { said } = sayAll({ input }, target);
        expect(sayAll({ input }, target, owner).said).toEqual(said);
      }
    }
  }
});
