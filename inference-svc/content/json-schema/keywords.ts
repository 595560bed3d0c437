/** The keywords of JSON Schema for all types, for arrays and for objects. Unknown keywords are ignored. */
import { isDeepStrictEqual } from "node:util";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Yielding } from "../../turn/time-slice.ts";
import { type SchemaCheck, fitsNumber, fitsString, isOfType, isWithin } from "./scalars.ts";

export function* fitsKeywords(schema: JsonObject, value: unknown, check: SchemaCheck): Yielding<boolean> {
  const { type, enum: values } = schema;
  if (type !== undefined && ![type].flat().some((name) => isOfType(name, value))) return false;
  if (Array.isArray(values) && !values.some((each) => isDeepStrictEqual(each, value))) return false;
  if ("const" in schema && !isDeepStrictEqual(schema["const"], value)) return false;
  if (typeof value === "string" && !(yield* fitsString(schema, value, check))) return false;
  if (typeof value === "number" && !fitsNumber(schema, value)) return false;
  if (Array.isArray(value) && !(yield* fitsList(schema, value, check))) return false;
  if (isObject(value) && !(yield* fitsObject(schema, value, check))) return false;
  return yield* fitsTogether(schema, value, check);
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Checks the keywords that combine several schemas, such as `allOf`. */
function* fitsTogether(schema: JsonObject, value: unknown, check: SchemaCheck): Yielding<boolean> {
  const { allOf, anyOf, oneOf, not, if: condition, then = true, else: otherwise = true } = schema;
  for (const each of listOf(allOf)) if (!(yield* check.fits(each, value))) return false;
  if (anyOf !== undefined && (yield* count(listOf(anyOf), value, check, 1)) === 0) return false;
  if (oneOf !== undefined && (yield* count(listOf(oneOf), value, check, 2)) !== 1) return false;
  if (not !== undefined && (yield* check.fits(not, value))) return false;
  if (condition === undefined) return true;
  return yield* check.fits((yield* check.fits(condition, value)) ? then : otherwise, value);
}

/** Counts the schemas the value fits, up to `enough`. */
function* count(schemas: readonly unknown[], value: unknown, check: SchemaCheck, enough: number): Yielding<number> {
  let fitting = 0;
  for (const schema of schemas) {
    if (yield* check.fits(schema, value)) fitting++;
    if (fitting === enough) break;
  }
  return fitting;
}

/** Maximum length of a list whose entries are all compared with each other; longer lists are not compared. */
const maxCompared = 200;

function* fitsList(schema: JsonObject, value: readonly unknown[], check: SchemaCheck): Yielding<boolean> {
  if (!isWithin(schema["minItems"], value.length, schema["maxItems"])) return false;
  if (schema["uniqueItems"] === true && hasDoubles(value)) return false;
  const { first, rest } = itemsOf(schema);
  for (const [index, item] of value.entries()) {
    if (!(yield* check.fits(index < first.length ? first[index] : rest, item))) return false;
  }
  return yield* contains(schema, value, check);
}

/** The schemas of a list's first entries and of its other entries; earlier drafts had one keyword for both. */
function itemsOf({ prefixItems, items, additionalItems }: JsonObject): {
  readonly first: readonly unknown[];
  readonly rest: unknown;
} {
  if (Array.isArray(prefixItems)) return { first: prefixItems, rest: items ?? true };
  return Array.isArray(items) ? { first: items, rest: additionalItems ?? true } : { first: [], rest: items ?? true };
}

function* contains(schema: JsonObject, value: readonly unknown[], check: SchemaCheck): Yielding<boolean> {
  if (schema["contains"] === undefined) return true;
  let found = 0;
  for (const item of value) if (yield* check.fits(schema["contains"], item)) found++;
  return isWithin(schema["minContains"] ?? 1, found, schema["maxContains"]);
}

function hasDoubles(value: readonly unknown[]): boolean {
  if (value.every((item) => typeof item !== "object")) return new Set(value).size < value.length;
  if (value.length > maxCompared) return false;
  return value.some((item, index) => value.slice(0, index).some((other) => isDeepStrictEqual(item, other)));
}

function* fitsObject(schema: JsonObject, value: JsonObject, check: SchemaCheck): Yielding<boolean> {
  const keys = Object.keys(value);
  if (!isWithin(schema["minProperties"], keys.length, schema["maxProperties"])) return false;
  if (!hasAll(schema["required"], value)) return false;
  for (const key of keys) if (!(yield* fitsMember(schema, key, value[key], check))) return false;
  return yield* fitsDependents(schema, value, check);
}

const hasAll = (names: unknown, value: JsonObject): boolean =>
  !Array.isArray(names) || names.every((name) => Object.hasOwn(value, String(name)));

const membersOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

function* fitsMember(schema: JsonObject, key: string, value: unknown, check: SchemaCheck): Yielding<boolean> {
  const { propertyNames = true, additionalProperties = true } = schema;
  if (propertyNames !== true && !(yield* check.fits(propertyNames, key))) return false;
  const properties = membersOf(schema["properties"]);
  const named = Object.hasOwn(properties, key);
  if (named && !(yield* check.fits(properties[key], value))) return false;
  let isKnown = named;
  for (const [pattern, fitting] of Object.entries(membersOf(schema["patternProperties"]))) {
    if (!(yield* check.matches(pattern, key))) continue;
    isKnown = true;
    if (!(yield* check.fits(fitting, value))) return false;
  }
  return isKnown || (yield* check.fits(additionalProperties, value));
}

/** Checks requirements that depend on the presence of another property. Earlier drafts had one keyword for both kinds of them. */
function* fitsDependents(schema: JsonObject, value: JsonObject, check: SchemaCheck): Yielding<boolean> {
  for (const field of ["dependentRequired", "dependentSchemas", "dependencies"]) {
    for (const [key, dependent] of Object.entries(membersOf(schema[field]))) {
      if (!Object.hasOwn(value, key)) continue;
      if (Array.isArray(dependent) ? !hasAll(dependent, value) : !(yield* check.fits(dependent, value))) return false;
    }
  }
  return true;
}
