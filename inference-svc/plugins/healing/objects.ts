/** What a schema says of objects. */
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Pauses } from "../../turn/breath.ts";
import { isWithin } from "./scalars.ts";
import type { Check } from "./schema.ts";

export function* fitsObject(schema: JsonObject, value: JsonObject, check: Check): Pauses<boolean> {
  const keys = Object.keys(value);
  if (!isWithin(schema["minProperties"], keys.length, schema["maxProperties"])) return false;
  if (!hasAll(schema["required"], value)) return false;
  for (const key of keys) if (!(yield* fitsMember(schema, key, value[key], check))) return false;
  return yield* fitsDependents(schema, value, check);
}

const hasAll = (names: unknown, value: JsonObject): boolean =>
  !Array.isArray(names) || names.every((name) => Object.hasOwn(value, String(name)));

const membersOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

function* fitsMember(schema: JsonObject, key: string, value: unknown, check: Check): Pauses<boolean> {
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

/** What must be there, or hold, where something else is. Earlier drafts had one keyword for both. */
function* fitsDependents(schema: JsonObject, value: JsonObject, check: Check): Pauses<boolean> {
  for (const field of ["dependentRequired", "dependentSchemas", "dependencies"]) {
    for (const [key, dependent] of Object.entries(membersOf(schema[field]))) {
      if (!Object.hasOwn(value, key)) continue;
      if (Array.isArray(dependent) ? !hasAll(dependent, value) : !(yield* check.fits(dependent, value))) return false;
    }
  }
  return true;
}
