/** Random values of a JSON Schema, for the kinds of schemas that administration records have. */
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import fc from "./properties.js";

/** @returns values that the schema accepts @throws for a keyword that is not supported here */
export function arbitraryOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { anyOf, enum: words, type } = schema;
  if (Array.isArray(anyOf)) return fc.oneof(...(anyOf as JsonSchema[]).map(arbitraryOf));
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(words)) return fc.constantFrom(...(words as unknown[]));
  const known = kinds[String(type)];
  if (!known) throw new Error(`no values of ${JSON.stringify(schema)}`);
  return known(schema);
}

const kinds: Readonly<Record<string, (schema: JsonSchema) => fc.Arbitrary<unknown>>> = {
  null: () => fc.constant(null),
  boolean: () => fc.boolean(),
  integer: ({ minimum, maximum }) => fc.integer({ min: Number(minimum), max: Number(maximum) }),
  number: ({ minimum = 0.01, maximum = 1 }) =>
    fc.double({ min: Number(minimum), max: Number(maximum), noNaN: true }).map((value) => (value === 0 ? 0 : value)),
  string: textOf,
  array: arrayOf,
  object: objectOf,
};

/**
 * Random times, ids, networks, authors of models, and other texts. Other texts have spaces only inside, since some fields reject them at the ends.
 */
function textOf({ pattern = "" }: JsonSchema): fc.Arbitrary<string> {
  const form = String(pattern);
  if (form.includes("T")) return fc.date({ noInvalidDate: true, min, max }).map((date) => date.toISOString());
  if (form.startsWith("^[0-9a-f]{8}")) return fc.uuid();
  if (form.startsWith("^[0-9A-Fa-f:.]")) return fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("10.0.0.0/8"));
  return fc.stringMatching(form.startsWith("^[a-z0-9]") ? /^[a-z0-9]{1,9}$/ : /^[a-z]([a-z .,"'<-]{0,9}[a-z])?$/);
}

const min = new Date("2026-01-01T00:00:00Z");
const max = new Date("2036-01-01T00:00:00Z");

/** Random arrays. If entries begin with one word of a short list, there is at most one entry for each word. */
function arrayOf({ items, minItems = 0, maxItems = 3 }: JsonSchema): fc.Arbitrary<unknown[]> {
  const entry = items as JsonSchema;
  const [key, first] = Object.entries((entry["properties"] ?? {}) as Record<string, JsonSchema>)[0] ?? [];
  const limits = { minLength: Number(minItems), maxLength: Math.min(3, Number(maxItems)) };
  const isKeyed = key !== undefined && first?.["enum"] !== undefined;
  if (isKeyed || entry["enum"] !== undefined) {
    const selector = (value: unknown) => (isKeyed ? (value as Record<string, unknown>)[key] : value);
    return fc.uniqueArray(arbitraryOf(entry), { ...limits, selector });
  }
  return fc.array(arbitraryOf(entry), limits);
}

function objectOf({
  properties,
  required = [],
  additionalProperties,
  propertyNames,
}: JsonSchema): fc.Arbitrary<object> {
  if (properties === undefined) {
    return fc.dictionary(textOf((propertyNames ?? {}) as JsonSchema), arbitraryOf(additionalProperties as JsonSchema), {
      maxKeys: 3,
    });
  }
  const fields = Object.entries(properties as Record<string, JsonSchema>).map(([name, field]) => [
    name,
    arbitraryOf(field),
  ]);
  return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: required as string[],
  });
}
