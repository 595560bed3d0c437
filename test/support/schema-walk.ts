/** Walks the published schema of a request: finds each field at any depth, with a body that has a value there. */
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import { document } from "./answers/published.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The shortest text that is used if a schema accepts any. */
export const leastText = "n1";

const picture = "data:image/png;base64,iVBORw0KGgo=";

export const followReference = (schema: JsonSchema): JsonSchema => {
  const reference = schema["$ref"];
  return typeof reference === "string" ? (document.components.schemas[reference.split("/").at(-1)!] ?? {}) : schema;
};

/** Picks a text among alternatives if possible, because an empty list would carry no information. */
const leastOf = (choices: readonly JsonSchema[]): JsonSchema =>
  choices.find(({ type }) => type === "string") ?? choices.find(({ type }) => type !== "null") ?? {};

/** The smallest value that a schema accepts. */
export function leastValue(given: JsonSchema): unknown {
  const schema = followReference(given);
  if ("const" in schema) return schema["const"];
  if (Array.isArray(schema["enum"])) return (schema["enum"] as unknown[])[0];
  if (Array.isArray(schema["anyOf"])) return leastValue(leastOf(schema["anyOf"] as JsonSchema[]));
  if (schema["type"] === "boolean") return false;
  if (schema["type"] === "integer" || schema["type"] === "number") return Number(schema["minimum"] ?? 1);
  if (schema["type"] === "array")
    return Array.from({ length: Number(schema["minItems"] ?? 0) }, () => leastValue(schema["items"] as JsonSchema));
  if (schema["type"] !== "object") return leastText;
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = [...((schema["required"] ?? []) as readonly string[])];
  // A picture requires a URL or a file id.
  if (JSON.stringify(properties["type"] ?? "").includes("input_image"))
    return { type: "input_image", image_url: picture };
  const filled: Fields = Object.fromEntries(required.map((name) => [name, leastValue(properties[name] ?? {})]));
  // A message without content would not be sent at all.
  if (properties["role"] && properties["content"] && !required.includes("content"))
    return { ...filled, content: leastText };
  return filled;
}

/** A field of a request at one place. */
export interface SchemaField {
  readonly name: string;
  /** Path of the field, with the kinds of the objects around it, such as `input[]<additional_tools>.tools`. */
  readonly path: string;
  readonly schema: JsonSchema;
  /** Returns the smallest body that has the value in this field. */
  readonly put: (value: unknown) => Fields;
}

type Place = (value: unknown) => Fields;

const kindOf = (schema: JsonSchema): string => {
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
  const { const: kind } = followReference(properties["type"] ?? properties["id"] ?? {});
  return typeof kind === "string" ? `<${kind}>` : "";
};

/** Every field of a named schema; a recursive schema is entered once on each path. */
export const schemaFields = (name: string): SchemaField[] => [
  ...fieldsIn({ $ref: `#/components/schemas/${name}` }, "", (value) => value as Fields, []),
];

function* fieldsIn(given: JsonSchema, path: string, place: Place, way: readonly string[]): Generator<SchemaField> {
  const reference = given["$ref"];
  if (typeof reference === "string" && way.includes(reference)) return;
  const followed = typeof reference === "string" ? [...way, reference] : way;
  const schema = followReference(given);
  for (const choice of (schema["anyOf"] ?? []) as readonly JsonSchema[]) yield* fieldsIn(choice, path, place, followed);
  if (schema["type"] === "array")
    yield* fieldsIn((schema["items"] ?? {}) as JsonSchema, `${path}[]`, (value) => place([value]), followed);
  const properties = Object.entries((schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>);
  if (properties.length === 0) return;
  const whole = leastValue(schema) as Fields;
  for (const [name, field] of properties) {
    const at = `${path}${kindOf(schema)}`;
    const put: Place = (value) => place({ ...whole, [name]: value });
    const found = { name, path: at === "" ? name : `${at}.${name}`, schema: field, put };
    yield found;
    yield* fieldsIn(field, found.path, put, followed);
  }
}

/** The smallest value of an object with one of its optional fields, for each field and each of the field's forms. */
export function variantsOf(schema: JsonSchema): Fields[] {
  const whole = leastValue(schema) as Fields;
  const properties = Object.entries(
    (followReference(schema)["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>,
  );
  const others = properties.flatMap(([name, field]) =>
    name === "type" ? [] : formsOf(field).map((value) => ({ ...whole, [name]: value })),
  );
  return [whole, ...others];
}

/** Values of a schema: one for each word, for each alternative, and for each field of an object. */
function formsOf(given: JsonSchema): unknown[] {
  const schema = followReference(given);
  if (Array.isArray(schema["enum"])) return schema["enum"] as unknown[];
  if (Array.isArray(schema["anyOf"])) return (schema["anyOf"] as JsonSchema[]).flatMap(formsOf);
  if (schema["type"] === "object" && schema["properties"] !== undefined) return variantsOf(schema);
  return schema["type"] === "null" ? [] : [leastValue(schema)];
}
