/** Builds a small value that is valid by a JSON Schema. Unknown keywords are ignored. */
import { type JsonObject, isObject, objects } from "../json.ts";

/** Maximum depth of the value, for schemas that contain themselves. */
const maxDepth = 16;

const formats: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  time: "00:00:00Z",
  email: "user@example.com",
  uri: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
  ipv4: "192.0.2.1",
};

/** @param schemaJson JSON Schema; "null" allows everything and gives an empty object */
export function exampleJson(schemaJson: string): string {
  const schema: unknown = JSON.parse(schemaJson);
  return JSON.stringify(isObject(schema) ? example(schema, schema, 0) : {});
}

function example(schema: JsonObject, root: JsonObject, depth: number): unknown {
  if (depth > maxDepth) return null;
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const referred = resolve(schema.$ref, root);
  if (referred) return example(referred, root, depth + 1);
  const [choice] = [...objects(schema.anyOf), ...objects(schema.oneOf)];
  if (choice) return example({ ...rest(schema), ...choice }, root, depth + 1);
  const all = objects(schema.allOf);
  if (all.length > 0) return example(merged([rest(schema), ...all], root), root, depth + 1);
  return byType(schema, root, depth);
}

const rest = (schema: JsonObject): JsonObject => ({ ...schema, anyOf: undefined, oneOf: undefined, allOf: undefined });

function merged(schemas: readonly JsonObject[], root: JsonObject): JsonObject {
  const parts = schemas.map((part) => resolve(part.$ref, root) ?? part);
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map((part) => part.properties)),
    required: parts.flatMap((part) => (Array.isArray(part.required) ? part.required : [])),
  };
}

/** Resolves a reference within the schema; references to other documents give undefined. */
function resolve(reference: unknown, root: JsonObject): JsonObject | undefined {
  if (typeof reference !== "string" || !reference.startsWith("#")) return undefined;
  let found: unknown = root;
  for (const step of reference.split("/").slice(1)) {
    found = isObject(found) ? found[decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return isObject(found) ? found : undefined;
}

function byType(schema: JsonObject, root: JsonObject, depth: number): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "string":
      return exampleText(schema);
    case "integer":
    case "number":
      return exampleNumber(schema, type === "integer");
    case "boolean":
      return true;
    case "null":
      return null;
    case "array": {
      const items = isObject(schema.items) ? schema.items : {};
      return Array.from({ length: Math.min(numberOr(schema.minItems, 0), 64) }, () => example(items, root, depth + 1));
    }
    default:
      return exampleObject(schema, root, depth);
  }
}

function exampleObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return Object.fromEntries(
    required.map((name) => {
      const property = properties[String(name)];
      return [String(name), isObject(property) ? example(property, root, depth + 1) : "example"];
    }),
  );
}

function exampleText(schema: JsonObject): string {
  const text = formats[String(schema.format)] ?? "example";
  const minLength = Math.min(numberOr(schema.minLength, 0), 4_096);
  return text.padEnd(minLength, "x").slice(0, numberOr(schema.maxLength, Number.POSITIVE_INFINITY));
}

function exampleNumber(schema: JsonObject, whole: boolean): number {
  const step = numberOr(schema.multipleOf, whole ? 1 : 0);
  const above = typeof schema.exclusiveMinimum === "number" ? schema.exclusiveMinimum + (step || 1) : undefined;
  const lowest = numberOr(schema.minimum, above ?? Number.NEGATIVE_INFINITY);
  const highest = numberOr(schema.maximum, Number.POSITIVE_INFINITY);
  const wanted = Math.min(Math.max(1, lowest), highest);
  return step > 0 ? Math.ceil(wanted / step) * step : wanted;
}

const numberOr = (value: unknown, fallback: number): number => (typeof value === "number" ? value : fallback);
