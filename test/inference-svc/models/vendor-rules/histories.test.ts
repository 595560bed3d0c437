/** Random histories, as clients and other gateways produce them, must be sent to each vendor in an accepted form. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import fc from "../../../support/properties.ts";
import {
  cohereLimits,
  findChatViolations,
  mistralLimits,
  openAiLimits,
  templateLimits,
} from "../../../support/providers/rules/chat.ts";
import { findConverseViolations } from "../../../support/providers/rules/converse.ts";
import { findGeminiViolations } from "../../../support/providers/rules/gemini.ts";
import { findMessagesViolations } from "../../../support/providers/rules/messages.ts";
import { findResponsesViolations } from "../../../support/providers/rules/responses.ts";
import { testRequest, functionTool } from "../../asking.js";
import { buildChatBody, otherChat, vendorChat } from "../dialects/chat-translation.js";
import { buildCohereBody } from "../dialects/cohere-translation.js";
import {
  buildConverseBody,
  claudeOnBedrock,
  findConverseDropped,
  llamaOnBedrock,
  novaOnBedrock,
  refuseConverseRequest,
} from "../dialects/converse-translation.js";
import { refuseGeminiRequest, translateToGemini } from "../dialects/gemini-translation.js";
import { buildMessagesBody, messagesWithPrompts, refuseMessagesRequest } from "../dialects/messages-translation.js";

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
/** Arguments as models write them, and as an abort leaves them. */
const argumentTexts = fc.constantFrom(
  "{}",
  '{"q":1}',
  "",
  " ",
  "null",
  '"Oslo"',
  "[1]",
  '{"q": "Os',
  "{'q': 1}",
  '{"q":1}{"q":2}',
);
/** Prompts that a client writes between calls and their results. */
const amid = fc.option(prompt, { nil: undefined, freq: 4 });
/** Calls of one answer with their results, in any order; a result in two pieces, and prompts between them. */
const exchange = fc
  .uniqueArray(callIds, { minLength: 1, maxLength: 3 })
  .chain((ids) =>
    fc.tuple(
      fc.constant(ids),
      toolNames,
      argumentTexts,
      fc.shuffledSubarray(ids, { minLength: ids.length }),
      fc.boolean(),
      fc.tuple(amid, amid),
      fc.tuple(words, mark),
    ),
  )
  .map(([ids, name, args, order, isTwice, [early, late], [output, marked]]) => {
    const [first = "", ...others] = order;
    const resultOf = (id: string, more: object = {}) => ({
      type: "function_call_output",
      call_id: id,
      output: [{ type: "input_text", text: output, ...more }],
    });
    return [
      ...ids.map((id) => ({ type: "function_call", call_id: id, name, arguments: args })),
      ...(early ? [early] : []),
      resultOf(first, marked),
      ...(isTwice ? [resultOf(first)] : []),
      ...(late && others.length > 0 ? [late] : []),
      ...others.map((id) => resultOf(id)),
    ];
  });

/**
 * A history has at most four exchanges, because a fifth cache mark is refused, and each has separate ids. A conversation without any text gets
 * the provider's own 400, so every history contains a text.
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

const mistralChat = { ...otherChat, upstreamModel: "mistral-large-latest" };
const openAi = { ...otherChat, original: true, reasoningFormat: "openai-responses-v1" };
const responsesOf = (request: Partial<TurnRequest>) =>
  JSON.parse(responsesBody(testRequest(request), openAi, () => undefined)) as Record<string, unknown>;

/** The places of system messages in the input where a server's template would refuse them. */
function misplacedPrompts(request: Partial<TurnRequest>): readonly string[] {
  const body = JSON.parse(responsesBody(testRequest(request), otherChat, () => undefined)) as {
    input: { role?: string }[];
  };
  if (body.input.length === 0) return ["input: is empty"];
  return body.input.flatMap(({ role }, index) => (role === "system" || role === "developer" ? [`input.${index}`] : []));
}

type Request = Partial<TurnRequest>;
const vendors: readonly (readonly [string, (request: Request) => readonly string[]])[] = [
  ["Anthropic", (request) => findMessagesViolations(buildMessagesBody(request))],
  [
    "Anthropic's models with system messages amid",
    (request) => findMessagesViolations(buildMessagesBody(request, messagesWithPrompts)),
  ],
  ["Bedrock", (request) => findConverseViolations(buildConverseBody(request))],
  ["OpenAI's chat completions", (request) => findChatViolations(buildChatBody(request, vendorChat), openAiLimits)],
  ["a strict template", (request) => findChatViolations(buildChatBody(request), templateLimits)],
  [
    "a strict template with instructions",
    (request) => findChatViolations(buildChatBody({ ...request, instructions: "Be brief." }), templateLimits),
  ],
  ["a strict template behind responses", (request) => misplacedPrompts({ ...request, instructions: "Be brief." })],
  ["OpenAI's responses", (request) => findResponsesViolations(responsesOf(request))],
  ["Mistral", (request) => findChatViolations(buildChatBody(request, mistralChat), mistralLimits)],
  ["Google", (request) => findGeminiViolations(translateToGemini(request).body)],
  ["Cohere", (request) => findChatViolations(buildCohereBody(request), cohereLimits)],
];

/** `HISTORIES=100000 npm test -- vendor-rules/histories` is the long form, of some minutes. */
const numRuns = Number(process.env["HISTORIES"] ?? 1_000);

describe("a random conversation history", () => {
  test.each(vendors)(
    "reaches %s in an acceptable form",
    (_vendor, violationsOf) => {
      fc.assert(
        fc.property(histories, (input) => {
          expect(violationsOf({ input, tools })).toEqual([]);
        }),
        { numRuns, seed: 35 },
      );
    },
    600_000,
  );
});

describe("a request of only blanks is refused by name", () => {
  const blanks = [
    { type: "message", role: "user", content: " " },
    { type: "message", role: "user", content: [{ type: "input_text", text: "" }] },
  ];
  test.each([
    ["messages", refuseMessagesRequest],
    ["converse", refuseConverseRequest],
    ["gemini", refuseGeminiRequest],
  ])("%s", (_format, refuse) => {
    const refusal = { path: "input", message: "must have a text that is not blank" };
    for (const input of [blanks, blanks.slice(0, 1)]) expect(refuse({ input })).toEqual(refusal);
    expect(refuse({ input: blanks, instructions: "Say hi." })).toBeUndefined();
  });
});

test("a failed tool result is marked at Bedrock for models that support it, and named as not sent elsewhere", () => {
  const input = [
    { type: "message", role: "user", content: "Read it." },
    { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: "ENOENT", status: "incomplete" },
  ];
  for (const target of [claudeOnBedrock, novaOnBedrock])
    expect(JSON.stringify(buildConverseBody({ input, tools }, target))).toContain('"status":"error"');
  expect(JSON.stringify(buildConverseBody({ input, tools }, llamaOnBedrock))).not.toContain('"status"');
  expect(findConverseDropped({ input, tools }, llamaOnBedrock)).toContain("input.2.status");
});

test("images in tool results follow all results at Google, and stay in the result at Mistral", () => {
  const picture = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" };
  const input = [
    { type: "message", role: "user", content: "Look." },
    ...["call_1", "call_2"].map((id) => ({ type: "function_call", call_id: id, name: "f", arguments: "{}" })),
    { type: "function_call_output", call_id: "call_1", output: [{ type: "input_text", text: "A" }, picture] },
    { type: "function_call_output", call_id: "call_2", output: "B" },
  ];
  expect(findGeminiViolations(translateToGemini({ input, tools }).body)).toEqual([]);
  const body = buildChatBody({ input, tools }, mistralChat);
  expect(findChatViolations(body, mistralLimits)).toEqual([]);
  expect(body.messages).toMatchObject([
    {},
    {},
    { role: "tool", content: [{ type: "text" }, { type: "image_url" }] },
    {},
  ]);
});

test("two calls with one id keep two results, and a third result joins the first, failed if it has failed", () => {
  const call = { type: "function_call", call_id: "a", name: "f", arguments: "{}" };
  const result = (output: string, more: object = {}) => ({
    type: "function_call_output",
    call_id: "a",
    output,
    ...more,
  });
  const start = { type: "message", role: "user", content: "Look." };
  const input = [start, call, result("0"), call, call, result("1"), result("2"), result("3", { status: "incomplete" })];
  const losses: (readonly [string, string])[] = [];
  const sent = JSON.parse(responsesBody(testRequest({ input }), openAi, (...loss) => void losses.push(loss))) as {
    input: { output?: string; status?: string }[];
  };
  expect(sent.input.flatMap(({ output, status }) => (output === undefined ? [] : [[output, status]]))).toEqual([
    ["0", undefined],
    ["1\n3", "incomplete"],
    ["2", undefined],
  ]);
  expect(losses).toEqual([["input.7", expect.stringContaining("sent within the first result")]]);
  expect(findGeminiViolations(translateToGemini({ input, tools }).body)).toEqual([]);
});

test("ids of other vendors are not sent to OpenAI, with a note in the receipt", () => {
  const losses: string[] = [];
  const input = [
    { type: "message", id: "lc_run--0197", role: "assistant", content: "Hi" },
    { type: "message", id: "msg_1", role: "assistant", content: "Hi" },
    { type: "function_call", id: "call_b5022d86", call_id: "call_1", name: "f", arguments: "{}" },
    { type: "custom_tool_call", id: "fc_7d85", call_id: "call_2", name: "ap", input: "x" },
  ];
  const text = responsesBody(testRequest({ input }), openAi, (path) => void losses.push(path));
  expect((JSON.parse(text) as { input: { id?: string }[] }).input.map(({ id }) => id)).toEqual([
    undefined,
    "msg_1",
    undefined,
    undefined,
  ]);
  expect(losses).toEqual(["input.0.id", "input.2.id", "input.3.id"]);
});
