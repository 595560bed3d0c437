/** Visits every schema within a schema, and copies only those that change. */
import { type JsonObject, isObject } from "../../json.ts";

/** Keywords whose value contains schemas by name. */
const maps: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
/** Keywords whose value is a schema or a list of schemas. */
const inner: ReadonlySet<string> = new Set([
  "items",
  "prefixItems",
  "additionalItems",
  "contains",
  "unevaluatedItems",
  "additionalProperties",
  "propertyNames",
  "unevaluatedProperties",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "if",
  "then",
  "else",
]);

/** The schemas directly inside a schema. */
export function subschemasOf(schema: JsonObject): readonly JsonObject[] {
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (maps.has(keyword)) return isObject(value) ? Object.values(value).filter(isObject) : [];
    if (!inner.has(keyword)) return [];
    return (Array.isArray(value) ? value : [value]).filter(isObject);
  });
}

/** Maximum nesting of schemas visited; no vendor takes deeper ones. */
const maxDepth = 100;

/**
 * @param change called for each schema, outer ones first
 * @returns the schema itself when nothing changes
 */
export function mapSchemas(schema: JsonObject, change: (node: JsonObject) => JsonObject, depth = 0): JsonObject {
  if (depth > maxDepth) return schema;
  const visit = (value: unknown): unknown => (isObject(value) ? mapSchemas(value, change, depth + 1) : value);
  return mapMembers(change(schema), (value, keyword) => {
    if (maps.has(keyword)) return isObject(value) ? mapMembers(value, visit) : value;
    if (!inner.has(keyword)) return value;
    return Array.isArray(value) ? mapList(value, visit) : visit(value);
  });
}

function mapMembers(object: JsonObject, change: (value: unknown, name: string) => unknown): JsonObject {
  const entries = Object.entries(object);
  const changed = entries.map(([name, value]): [string, unknown] => [name, change(value, name)]);
  return entries.some(([, value], index) => value !== changed[index]?.[1]) ? Object.fromEntries(changed) : object;
}

function mapList(list: readonly unknown[], change: (value: unknown) => unknown): readonly unknown[] {
  const changed = list.map(change);
  return list.some((value, index) => value !== changed[index]) ? changed : list;
}
