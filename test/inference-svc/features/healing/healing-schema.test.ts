/** Whether a value fits a schema: compared with another implementation, and how schemas are treated that cannot be checked. */
import { describe, expect, test } from "@jest/globals";
import { SchemaChecker, UncheckableSchema } from "@sluice/inference-svc/content/json-schema/schema.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "../../../support/properties.js";

function fits(schema: unknown, value: unknown): boolean {
  const work = new SchemaChecker(schema).fits(schema, value);
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

const small = fc.integer({ min: 0, max: 3 });
const name = fc.constantFrom("a", "b", "c");
const scalar = fc.oneof(fc.integer({ min: -2, max: 4 }), fc.constantFrom("", "a", "bb", "é😀", true, false, null, 1.5));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(name, tie("value"), { maxKeys: 3 }),
  ),
}));

const type = fc.constantFrom("object", "array", "string", "number", "integer", "boolean", "null");
const { schema } = fc.letrec((tie) => {
  const inner = tie("schema");
  const several = fc.array(inner, { minLength: 1, maxLength: 3 });
  const leaf = fc.record(
    {
      type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 2 })),
      enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
      const: scalar,
      minimum: small,
      exclusiveMaximum: small,
      multipleOf: fc.constantFrom(0.5, 2),
      minLength: small,
      maxLength: small,
      pattern: fc.constantFrom("^a", "b+$", "[^a]", "^.{2}$"),
      minItems: small,
      maxItems: small,
      uniqueItems: fc.boolean(),
      minProperties: small,
      maxProperties: small,
      required: fc.uniqueArray(name, { maxLength: 2 }),
      dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 1 }),
    },
    { requiredKeys: [] },
  );
  const branch = fc.record(
    {
      properties: fc.dictionary(name, inner, { maxKeys: 3 }),
      patternProperties: fc.dictionary(fc.constantFrom("^a", "[bc]"), inner, { maxKeys: 1 }),
      additionalProperties: inner,
      propertyNames: inner,
      prefixItems: several,
      items: inner,
      contains: inner,
      minContains: small,
      allOf: several,
      anyOf: several,
      oneOf: several,
      not: inner,
      if: inner,
      // oxlint-disable-next-line unicorn/no-thenable
      then: inner,
      else: inner,
      dependentSchemas: fc.dictionary(name, inner, { maxKeys: 1 }),
      $ref: fc.constantFrom("#/$defs/text", "#/$defs/list", "#number"),
    },
    { requiredKeys: [] },
  );
  return {
    schema: fc.oneof(
      { maxDepth: 1 },
      leaf,
      fc.boolean(),
      branch,
      fc.tuple(leaf, branch).map(([a, b]) => ({ ...a, ...b })),
    ),
  };
});

const $defs = {
  text: { type: "string" },
  list: { type: "array", items: { $ref: "#/$defs/text" } },
  number: { $anchor: "number", type: "number" },
};

test("a value fits a schema exactly if another implementation agrees", () => {
  let fitting = 0;
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 5, maxLength: 5 }), (made, values) => {
      const root = typeof made === "object" ? { ...made, $defs } : made;
      // Ajv lets an empty list pass `contains` together with `prefixItems`.
      fc.pre(!/"prefixItems".*"contains"|"contains".*"prefixItems"/.test(JSON.stringify(root)));
      const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
      const check = ajv.compile(root as object);
      for (const each of values) {
        const expected = check(each);
        if (expected) fitting++;
        expect([JSON.stringify(root), each, fits(root, each)]).toEqual([JSON.stringify(root), each, expected]);
      }
    }),
    { numRuns: 400 },
  );
  expect(fitting).toBeGreaterThan(100);
}, 300_000);

test.each([
  [[], false],
  [["a"], false],
  [["a", 1], true],
  [[1, "a"], false],
])("`contains` in a schema works next to schemas of the first items: %j", (each, expected) => {
  expect(fits({ prefixItems: [{ type: "string" }], contains: { type: "number" } }, each)).toBe(expected);
});

describe("earlier drafts of JSON Schema", () => {
  test.each([
    [{ items: [{ type: "string" }], additionalItems: false }, ["a"], true],
    [{ items: [{ type: "string" }], additionalItems: false }, ["a", 1], false],
    [{ minimum: 1, exclusiveMinimum: true }, 1, false],
    [{ dependencies: { a: ["b"] } }, { a: 1 }, false],
    [{ $ref: "#/definitions/a~1b", definitions: { "a/b": { type: "null" } } }, null, true],
    [{ multipleOf: 0.1 }, 0.3, true],
  ])("are supported: %j of %j", (made, each, expected) => {
    expect(fits(made, each)).toBe(expected);
  });
});

describe("a keyword of a JSON schema without an effect", () => {
  test.each([
    [{ pattern: "^(?=a)" }, "b"],
    [{ pattern: "(" }, "b"],
    [{ format: "email" }, "b"],
    [{ unknown: 1 }, "b"],
  ])("does not refuse any value: %j", (made, each) => {
    expect(fits(made, each)).toBe(true);
  });
});

describe("a JSON schema that cannot be checked", () => {
  const wide = (depth: number): object => {
    const defs: Record<string, object> = { [`d${depth}`]: { type: "null" } };
    for (let i = 0; i < depth; i++) {
      const next = { $ref: `#/$defs/d${i + 1}` };
      defs[`d${i}`] = { anyOf: [next, next] };
    }
    return { $ref: "#/$defs/d0", $defs: defs };
  };
  test.each([
    ["a reference to elsewhere", { $ref: "https://example.com/schema" }],
    ["a reference to nothing", { $ref: "#/$defs/x" }],
    ["a reference to itself", { $ref: "#" }],
    ["a value that is no schema", { not: 1 }],
    ["2^40 steps", wide(40)],
  ])(
    "because of %s is reported as impossible to check",
    (_, made) => {
      expect(() => fits(made, 1)).toThrow(UncheckableSchema);
    },
    30_000,
  );
});
