/** Schemas of tools and answers must reach each vendor in an acceptable form, and unchanged if they already have it. */
import { describe, expect, test } from "@jest/globals";
import type { TextFormat, TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import { isLinear } from "../../../support/clock.ts";
import fc from "../../../support/properties.ts";
import { findConverseViolations } from "../../../support/providers/rules/converse.ts";
import { findMessagesViolations } from "../../../support/providers/rules/messages.ts";
import {
  checkClaudeStrict,
  checkClaudeTool,
  checkDeepseekStrict,
  checkDeepseekTool,
  checkGemini,
  checkGeminiTool,
  checkGroq,
  checkGroqStrict,
  checkGroqTool,
  checkMistral,
  checkMistralTool,
  checkMoonshot,
  checkMoonshotTool,
  checkOpenaiStrict,
  checkOpenaiTool,
  checkXai,
  checkXaiTool,
} from "../../../support/providers/rules/schemas.ts";
import { type BodyPart, violationsOf } from "../../../support/providers/rules/violations.ts";
import { testRequest, functionTool } from "../../asking.js";
import { translateChat, vendorChat, otherChat } from "../dialects/chat-translation.js";
import { translateToCohere } from "../dialects/cohere-translation.js";
import { claudeOnBedrock, translateToConverse } from "../dialects/converse-translation.js";
import { translateToGemini } from "../dialects/gemini-translation.js";
import {
  messagesBlock,
  messagesStart,
  messagesStop,
  readMessages,
  translateToMessages,
} from "../dialects/messages-translation.js";

type Check = (schema: BodyPart, path: string, report: (path: string, problem: string) => void) => void;
type Losses = readonly (readonly string[])[];

interface Sent {
  readonly schema: BodyPart | undefined;
  readonly strict: unknown;
  readonly losses: Losses;
}

interface Format {
  readonly tool: (json: string, strict: boolean | undefined) => Sent;
  readonly answer: (json: string, strict: boolean | undefined) => Sent;
  readonly checkTool: Check;
  readonly checkStrictTool: Check;
  readonly checkAnswer: Check;
  /** Rules for an answer sent with `strict: true`; absent where they are those of any answer. */
  readonly checkStrictAnswer?: Check;
}

const enforcing = { ...claudeOnBedrock, supportedParameters: ["structured_outputs", "tools"] };
const toolOf = (parametersJson: string, strict: boolean | undefined) => ({
  tools: [
    functionTool({
      name: "f",
      parametersJson,
      json: `{"type":"function","name":"f","parameters":${parametersJson}${strict === undefined ? "" : `,"strict":${strict}`}}`,
      ...(strict !== undefined && { strict }),
    }),
  ],
});
const formatOf = (schemaJson: string, strict: boolean | undefined): { readonly textFormat: TextFormat } => ({
  textFormat: { type: "json_schema", name: "n", schemaJson, ...(strict !== undefined && { strict }) },
});
const at = (body: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((value, step) => (value as Record<string | number, unknown> | undefined)?.[step], body);
const read = (
  body: unknown,
  losses: Losses,
  schemaAt: readonly (string | number)[],
  strictAt: readonly (string | number)[],
) => ({
  schema: at(body, ...schemaAt) as BodyPart | undefined,
  strict: at(body, ...strictAt),
  losses,
});
const both =
  (...checks: readonly Check[]): Check =>
  (schema, path, report) => {
    for (const check of checks) check(schema, path, report);
  };

type Sending = Pick<Format, "tool" | "answer">;

const inChat = (target: Target): Sending => ({
  tool: (json, strict) => {
    const { body, losses } = translateChat(toolOf(json, strict), target);
    return read(body, losses, ["tools", 0, "function", "parameters"], ["tools", 0, "function", "strict"]);
  },
  answer: (json, strict) => {
    const { body, losses } = translateChat(formatOf(json, strict), target);
    const format = ["response_format", "json_schema"];
    return read(body, losses, [...format, "schema"], [...format, "strict"]);
  },
});

function translateToResponses(request: Partial<TurnRequest>, target: Target) {
  const losses: [string, string][] = [];
  const text = responsesBody(testRequest(request), target, (path, reason) => void losses.push([path, reason]));
  return { body: JSON.parse(text) as BodyPart, losses };
}

const inResponses = (target: Target): Sending => ({
  tool: (json, strict) => {
    const { body, losses } = translateToResponses(toolOf(json, strict), target);
    return read(body, losses, ["tools", 0, "parameters"], ["tools", 0, "strict"]);
  },
  answer: (json, strict) => {
    const { body, losses } = translateToResponses(formatOf(json, strict), target);
    return read(body, losses, ["text", "format", "schema"], ["text", "format", "strict"]);
  },
});

const formats: Readonly<Record<string, Format>> = {
  Anthropic: {
    tool: (json, strict) => {
      const { body, losses } = translateToMessages(toolOf(json, strict));
      return read(body, losses, ["tools", 0, "input_schema"], ["tools", 0, "strict"]);
    },
    answer: (json, strict) => {
      const { body, losses } = translateToMessages(formatOf(json, strict));
      return read(body, losses, ["output_config", "format", "schema"], []);
    },
    checkTool: checkClaudeTool,
    checkStrictTool: both(checkClaudeTool, checkClaudeStrict),
    checkAnswer: checkClaudeStrict,
  },
  Bedrock: {
    tool: (json, strict) => {
      const { body, losses } = translateToConverse(toolOf(json, strict), enforcing);
      const spec = ["toolConfig", "tools", 0, "toolSpec"];
      return read(body, losses, [...spec, "inputSchema", "json"], [...spec, "strict"]);
    },
    answer: (json, strict) => {
      const { body, losses } = translateToConverse(formatOf(json, strict), enforcing);
      const text = String(at(body, "outputConfig", "textFormat", "structure", "jsonSchema", "schema"));
      return { schema: JSON.parse(text) as BodyPart, strict: undefined, losses };
    },
    checkTool: checkClaudeTool,
    checkStrictTool: both(checkClaudeTool, checkClaudeStrict),
    checkAnswer: checkClaudeStrict,
  },
  OpenAI: {
    ...inChat(vendorChat),
    checkTool: checkOpenaiTool,
    checkStrictTool: both(checkOpenaiTool, checkOpenaiStrict),
    checkAnswer: (schema, path, report) => {
      if (schema.type !== "object") report(path, "is no object");
    },
    checkStrictAnswer: checkOpenaiStrict,
  },
  Mistral: {
    ...inChat({ ...otherChat, vendor: "mistral" }),
    checkTool: checkMistralTool,
    checkStrictTool: checkMistralTool,
    checkAnswer: checkMistral,
  },
  Groq: {
    ...inChat({ ...otherChat, vendor: "groq" }),
    checkTool: checkGroqTool,
    checkStrictTool: checkGroqStrict,
    checkAnswer: checkGroq,
    checkStrictAnswer: checkGroqStrict,
  },
  DeepSeek: {
    ...inChat({ ...otherChat, vendor: "deepseek" }),
    checkTool: checkDeepseekTool,
    checkStrictTool: checkDeepseekStrict,
    checkAnswer: () => undefined,
  },
  xAI: {
    ...inChat({ ...otherChat, vendor: "xai" }),
    checkTool: checkXaiTool,
    checkStrictTool: checkXaiTool,
    checkAnswer: checkXai,
  },
  "xAI in the Responses format": {
    ...inResponses({ ...otherChat, vendor: "xai" }),
    checkTool: checkXaiTool,
    checkStrictTool: checkXaiTool,
    checkAnswer: checkXai,
  },
  Moonshot: {
    ...inChat({ ...otherChat, vendor: "moonshotai" }),
    checkTool: checkMoonshotTool,
    checkStrictTool: checkMoonshotTool,
    checkAnswer: checkMoonshot,
  },
  Gemini: {
    tool: (json, strict) => {
      const { body, losses } = translateToGemini(toolOf(json, strict));
      return read(body, losses, ["tools", 0, "functionDeclarations", 0, "parametersJsonSchema"], []);
    },
    answer: (json, strict) => {
      const { body, losses } = translateToGemini(formatOf(json, strict));
      return read(body, losses, ["generationConfig", "responseJsonSchema"], []);
    },
    checkTool: checkGeminiTool,
    checkStrictTool: checkGeminiTool,
    checkAnswer: checkGemini,
  },
  Cohere: {
    tool: (json, strict) => {
      const { body, losses } = translateToCohere(toolOf(json, strict));
      return read(body, losses, ["tools", 0, "function", "parameters"], []);
    },
    answer: (json, strict) => {
      const { body, losses } = translateToCohere(formatOf(json, strict));
      return read(body, losses, ["response_format", "json_schema"], []);
    },
    checkTool: checkOpenaiRoot,
    checkStrictTool: checkOpenaiRoot,
    checkAnswer: () => undefined,
  },
};

function checkOpenaiRoot(schema: BodyPart, path: string, report: (path: string, problem: string) => void): void {
  if (schema.type !== "object") report(path, "is no object");
  for (const keyword of ["anyOf", "oneOf", "allOf"]) if (keyword in schema) report(path, `has ${keyword}`);
}

const names = fc.constantFrom(
  "a",
  "b",
  "route",
  "file",
  "$filter",
  "filter[id]",
  "Account Number",
  "minimum",
  "type",
  "x".repeat(80),
  "é",
);
const leafTypes = fc.constantFrom("string", "integer", "number", "boolean", "null", "any", null, ["string", "null"]);
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 3 });

const { schema: schemas } = fc.letrec<{ schema: object; leaf: object; object: object; array: object }>((tie) => ({
  leaf: fc.record(
    {
      type: leafTypes,
      description: fc.constantFrom("D", "", null),
      minimum: fc.constantFrom(1, 0.5, null),
      maximum: fc.constant(9),
      exclusiveMinimum: fc.constantFrom(true, false, 3),
      multipleOf: fc.constant(2),
      minLength: fc.constant(1),
      maxLength: fc.constant(20),
      pattern: fc.constantFrom("^a+$", "^(?!b)", "\\bword\\b"),
      format: fc.constantFrom("date", "uri-reference", "email"),
      enum: fc.constantFrom(["x", "y"], [1, 2]),
      default: fc.constantFrom("x", null, { type: "object" }),
      $ref: fc.constant("#/$defs/D"),
      required: fc.constant(true),
      nullable: fc.boolean(),
    },
    { requiredKeys: [] },
  ),
  array: fc.record(
    {
      type: fc.constant("array"),
      items: fc.oneof(tie("schema"), fc.array(tie("schema"), { maxLength: 2 })),
      minItems: fc.constantFrom(0, 1, 2),
      maxItems: fc.constant(3),
      uniqueItems: fc.constant(true),
      contains: tie("leaf"),
    },
    { requiredKeys: ["type"] },
  ),
  object: fc.record(
    {
      type: fc.constantFrom("object", "object", "object", undefined, null, ["object", "null"]),
      properties: fc.dictionary(names, tie("schema"), { maxKeys: 3 }),
      required: fc.array(names, { maxLength: 2 }),
      additionalProperties: fc.oneof(fc.boolean(), tie("leaf")),
      description: fc.constant("O"),
      $defs: fc.record({ D: tie("leaf") }),
      anyOf: fc.array(tie("schema"), { maxLength: 2 }),
      oneOf: fc.array(tie("schema"), { maxLength: 2 }),
      allOf: fc.array(tie("schema"), { maxLength: 2 }),
      not: tie("leaf"),
      if: tie("leaf"),
      dependentRequired: fc.constant({ a: ["b"] }),
      patternProperties: fc.constant({ "^x": { type: "string", maxLength: 3 } }),
      minProperties: fc.constant(1),
      $ref: fc.constantFrom("#/$defs/D", "#", "#/properties/a"),
      $id: fc.constant("https://acme.test/schema"),
      $schema: fc.constant("http://json-schema.org/draft-07/schema#"),
    },
    { requiredKeys: [] },
  ),
  schema: fc.oneof({ maxDepth: 2, depthIdentifier: "schema" }, tie("leaf"), tie("object"), tie("array")),
}));
const roots = fc.oneof(
  { weight: 4, arbitrary: schemas },
  { weight: 1, arbitrary: fc.constant({ type: "object", properties: {} }) },
);
/** Number of schemas for a few seconds; `SCHEMAS=10000 npm test -- vendor-rules/schemas` is the long form. */
const count = Number(process.env["SCHEMAS"] ?? 500);
/** The samples are the same for every format, because generating them takes most of the time. */
const samples = fc.sample(fc.tuple(roots, optional(fc.boolean())), count);

const isRepaired = ({ losses }: Sent): boolean =>
  losses.some(([path, reason]) => path?.endsWith("strict") === false && reason?.startsWith("repaired:"));

/** The `strict` of a schema that is sent again in its sent form: a schema sent without enforcement stays so. */
const saidAgain = (strict: boolean | undefined, sent: Sent): boolean | undefined =>
  strict === true && (sent.strict === undefined || sent.strict === false) ? false : strict;

/** @returns the faults of a sent schema */
function* faultsOf(sent: Sent, again: Sent, check: Check): Generator<string> {
  yield* violationsOf((report) => check(sent.schema!, "schema", report));
  if (JSON.stringify(again.schema) !== JSON.stringify(sent.schema)) yield "changes when it is sent again";
  if (isRepaired(again)) yield "is named as repaired although it fits";
}

describe.each(Object.entries(formats))("random schemas at %s", (_, { tool, answer, ...checks }) => {
  const { checkTool, checkStrictTool, checkAnswer, checkStrictAnswer = checkAnswer } = checks;

  test("of tools have an acceptable form, stay unchanged when sent again, and are named when they change", () => {
    const faults = samples.flatMap(([root, strict]) => {
      const json = JSON.stringify(root);
      const sent = tool(json, strict);
      const isFit = violationsOf((report) =>
        (strict === true ? checkStrictTool : checkTool)(root as BodyPart, "schema", report),
      );
      const isSame = isRepaired(sent) || isFit.length > 0 || JSON.stringify(sent.schema) === json;
      const wrong = [
        ...faultsOf(
          sent,
          tool(JSON.stringify(sent.schema), saidAgain(strict, sent)),
          sent.strict === true ? checkStrictTool : checkTool,
        ),
        ...(isSame ? [] : ["was changed without a word"]),
      ];
      return wrong.length > 0 ? [{ json, strict, wrong }] : [];
    });
    expect(faults.sort((one, other) => one.json.length - other.json.length).slice(0, 1)).toEqual([]);
  }, 600_000);

  test("of answers have an acceptable form, and stay unchanged when sent again", () => {
    const faults = samples.flatMap(([root, strict]) => {
      const json = JSON.stringify(root);
      const sent = answer(json, strict);
      const check = sent.strict === true ? checkStrictAnswer : checkAnswer;
      const wrong = [...faultsOf(sent, answer(JSON.stringify(sent.schema), saidAgain(strict, sent)), check)];
      return wrong.length > 0 ? [{ json, strict, wrong }] : [];
    });
    expect(faults.sort((one, other) => one.json.length - other.json.length).slice(0, 1)).toEqual([]);
  }, 600_000);
});

const honest =
  '{ "type":"object","properties":{"n":{"type":"number","const":12345678901234567890,"description":"N"},' +
  '"m":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["n","m"],"additionalProperties":false}';

test.each(Object.keys(formats))("a schema within the vendor's rules reaches %s byte for byte", (vendor) => {
  const { tool, answer } = formats[vendor]!;
  for (const strict of [undefined, false, true])
    for (const sent of [tool(honest, strict), answer(honest, strict)]) {
      expect(sent.schema).toEqual(JSON.parse(honest));
      expect(isRepaired(sent)).toBe(false);
    }
  expect(translateToMessages(toolOf(honest, true)).text).toContain(honest);
  expect(translateChat(toolOf(honest, true), vendorChat).text).toContain(honest);
});

/** Schemas from public reports about other gateways. */
const reported = [
  '{"type":"object","properties":{"route":{"type":"string"},"$filter":{"type":"string"}},"anyOf":[{"required":["route"]},{"required":["file"]}]}',
  '{"type":"object","oneOf":[{"required":["a"]}]}',
  '{"type":null,"properties":{}}',
  '{"type":"object","properties":{"score":{"type":"integer","minimum":1,"maximum":10},"tags":{"type":"array","items":{"type":"string","maxLength":20},"maxItems":3}},"required":["score","tags"]}',
];

test.each(reported)(
  "the schema of %s is fit for Anthropic and Bedrock, as a tool and as the format of an answer",
  (json) => {
    for (const strict of [false, true]) {
      const asked = { ...toolOf(json, strict), ...formatOf(json, strict) };
      expect(findMessagesViolations(translateToMessages(asked).body)).toEqual([]);
      expect(findConverseViolations(translateToConverse(asked, enforcing).body)).toEqual([]);
    }
  },
);

test("parts of a schema that are folded, moved or renamed for a vendor are named", () => {
  const { body, losses } = translateToMessages({
    ...toolOf(reported[0]!, undefined),
    ...formatOf(reported[3]!, true),
  });
  expect(at(body, "tools", 0, "input_schema")).toEqual({
    type: "object",
    properties: { route: { type: "string" }, _filter: { type: "string" } },
    description: "Needs one of these: (route) or (file).",
  });
  expect(at(body, "output_config", "format", "schema", "properties", "score")).toEqual({
    type: "integer",
    description: "{minimum: 1, maximum: 10}",
  });
  expect(losses).toEqual([
    [
      "tools.0.parameters",
      "repaired: anyOf of the root is folded into its properties; properties are sent under names of letters, digits, _, . and -" +
        ", because the format takes an object without combinators at the root, by draft 2020-12",
    ],
    [
      "text.format.schema",
      "repaired: objects are sent with additionalProperties: false; minimum, maximum, maxItems, maxLength are told in descriptions" +
        ", because the format enforces only a part of JSON Schema",
    ],
  ]);
});

test("references of any kind in a schema reach Moonshot as definitions of the root", () => {
  const given = {
    type: "object",
    definitions: { size: { type: "integer" } },
    $defs: { tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/tree" } } } } },
    properties: {
      width: { $ref: "#/definitions/size", type: "integer", description: "W" },
      height: { $ref: "#/properties/width" },
      plant: { $ref: "#/$defs/tree" },
      lost: { $ref: "Colour" },
      either: { type: "object", anyOf: [{ required: ["a"] }, { $ref: "#/definitions/size" }] },
    },
    if: { required: ["width"] },
  };
  const { body, losses } = translateChat(toolOf(JSON.stringify(given), undefined), {
    ...otherChat,
    vendor: "moonshotai",
  });
  expect(at(body, "tools", 0, "function", "parameters")).toEqual({
    type: "object",
    properties: {
      width: { $ref: "#/$defs/size" },
      height: { $ref: "#/$defs/width" },
      plant: { $ref: "#/$defs/tree" },
      lost: {},
      either: { anyOf: [{ type: "object", required: ["a"] }, { $ref: "#/$defs/size" }] },
    },
    $defs: {
      size: { type: "integer" },
      width: { $ref: "#/$defs/size" },
      tree: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/tree" } } } },
    },
    description: '{if: {"required":["width"]}}',
  });
  expect(losses.map(([path]) => path)).toEqual(["tools.0.parameters"]);
});

describe("a schema at Moonshot", () => {
  const moonshot = { ...otherChat, vendor: "moonshotai" };
  const send = (schema: object): string =>
    JSON.stringify(translateChat(toolOf(JSON.stringify(schema), undefined), moonshot).body);
  const listOf = <Value>(count: number, valueOf: (n: number) => Value): readonly Value[] =>
    Array.from({ length: count }, (_, n) => valueOf(n));
  const named = <Value>(count: number, entryOf: (n: number) => readonly [string, Value]) =>
    Object.fromEntries(listOf(count, entryOf));
  const referring = (references: readonly string[], others: object) => ({
    type: "object",
    properties: { ...others, all: { type: "array", prefixItems: references.map(($ref) => ({ $ref })) } },
  });
  const dollars = 16;
  /** One schema node with any number of references to it. */
  const spelled = (n: number): string =>
    `#/properties/${listOf(dollars, (bit) => ((n >> bit) & 1 ? "%24" : "$")).join("")}`;

  test.each<[string, number, (count: number) => object]>([
    [
      "references to properties of one name",
      400,
      (count) =>
        referring(
          listOf(count, (n) => `#/properties/p${n}/properties/same`),
          named(count, (n) => [`p${n}`, { properties: { same: {} } }]),
        ),
    ],
    [
      "references to one node of its own size",
      100,
      (count) =>
        referring(listOf(count, spelled), {
          ["$".repeat(dollars)]: { properties: named(count, (n) => [`p${n}`, { type: "string" }]) },
        }),
    ],
  ])("takes time linear in its size with %s", async (_, size, schemaOf) => {
    expect(await isLinear(size, (count) => send(schemaOf(count)))).toBe(true);
  });

  test("grows little, however deep its references are nested", () => {
    let node: object = { type: "string", description: "d".repeat(10_000) };
    let path = "#";
    const references: string[] = [];
    for (let depth = 0; depth < 60; depth++) {
      node = { type: "object", properties: { a: node } };
      path += "/properties/a";
      references.push(path);
    }
    const given = referring(references, { a: node });
    expect(send(given).length).toBeLessThan(6 * JSON.stringify(given).length);
  });

  test("keeps a definition under any name, and takes only digits as a place in a list", () => {
    const given = {
      type: "object",
      properties: {
        a: { $ref: "#/definitions/__proto__" },
        b: { $ref: "#/properties/list/anyOf/0" },
        c: { $ref: "#/properties/list/anyOf/0e1" },
        list: { anyOf: [{ type: "string" }] },
      },
    };
    const json = JSON.stringify(given).replace(/}$/, ',"definitions":{"__proto__":{"type":"integer"}}}');
    const { body } = translateChat(toolOf(json, undefined), moonshot);
    const sent = at(body, "tools", 0, "function", "parameters") as { properties: object; $defs: object };
    expect(sent.properties).toEqual({
      a: { $ref: "#/$defs/__proto__" },
      b: { $ref: "#/$defs/0" },
      c: {},
      list: { anyOf: [{ type: "string" }] },
    });
    expect(new Map(Object.entries(sent.$defs))).toEqual(
      new Map([
        ["0", { type: "string" }],
        ["__proto__", { type: "integer" }],
      ]),
    );
  });
});

test("a schema takes time linear in the number of its properties with unusual names", async () => {
  const propertiesOf = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [String.fromCodePoint(0x4e_00 + n), {}]));
  expect(
    await isLinear(400, (count) =>
      translateToMessages(toolOf(JSON.stringify({ type: "object", properties: propertiesOf(count) }), undefined)),
    ),
  ).toBe(true);
});

test("calls have the client's names of properties again, in pieces of any length", () => {
  const request = toolOf(reported[0]!, undefined);
  const json = '{"_filter":"a \\"_filter\\": {","route":{"_filter":[1,{"_filter":2}]}}';
  for (let length = 1; length <= json.length; length++) {
    const pieces = json.match(new RegExp(`.{1,${length}}`, "g"))!;
    const { items } = readMessages(
      [
        messagesStart(),
        ...messagesBlock(
          0,
          { type: "tool_use", id: "t", name: "f", input: {} },
          ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
        ),
        ...messagesStop("tool_use"),
      ],
      request,
    );
    expect(items.at(-1)?.arguments).toBe(json.replace('{"_filter"', '{"$filter"'));
  }
});

test("servers of OpenAI's format other than known vendors get schemas unchanged", () => {
  const json = '{"oneOf":[{"required":["a"]}],"properties":{"$a":{"maximum":1.0}}}';
  expect(translateChat(toolOf(json, true), otherChat).text).toContain(json);
  expect(translateChat(formatOf(json, true), otherChat).text).toContain(json);
});

test("a JSON object without a schema is requested in words if the format has no such mode", () => {
  const asked = { instructions: "S", textFormat: { type: "json_object" as const } };
  const instruction = { text: "Answer with one JSON object and nothing else: no other words, and no code fence." };
  for (const { body, losses } of [translateToMessages(asked), translateToConverse(asked)]) {
    expect(at(body, "system", 1)).toMatchObject(instruction);
    expect(losses).toEqual([["text.format", "sent as an instruction: the format only enforces a JSON schema"]]);
  }
  const instructed = { ...asked, textFormat: { ...asked.textFormat, isInstructed: true as const } };
  for (const { body, losses } of [translateToMessages(instructed), translateToConverse(instructed)]) {
    expect([at(body, "system", 1), losses]).toEqual([undefined, []]);
  }
});
