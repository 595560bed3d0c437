/** What a schema says of arrays. */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Pauses } from "../../turn/breath.ts";
import { isWithin } from "./scalars.ts";
import type { Check } from "./schema.ts";

/** Each is held against each other: with more nobody looks whether they differ. */
const mostCompared = 200;

export function* fitsList(schema: JsonObject, value: readonly unknown[], check: Check): Pauses<boolean> {
  if (!isWithin(schema["minItems"], value.length, schema["maxItems"])) return false;
  if (schema["uniqueItems"] === true && hasDoubles(value)) return false;
  const { first, rest } = itemsOf(schema);
  for (const [index, item] of value.entries()) {
    if (!(yield* check.fits(index < first.length ? first[index] : rest, item))) return false;
  }
  return yield* contains(schema, value, check);
}

/** Earlier drafts had one keyword for both. */
function itemsOf({ prefixItems, items, additionalItems }: JsonObject): {
  readonly first: readonly unknown[];
  readonly rest: unknown;
} {
  if (Array.isArray(prefixItems)) return { first: prefixItems, rest: items ?? true };
  return Array.isArray(items) ? { first: items, rest: additionalItems ?? true } : { first: [], rest: items ?? true };
}

function* contains(schema: JsonObject, value: readonly unknown[], check: Check): Pauses<boolean> {
  if (schema["contains"] === undefined) return true;
  let found = 0;
  for (const item of value) if (yield* check.fits(schema["contains"], item)) found++;
  return isWithin(schema["minContains"] ?? 1, found, schema["maxContains"]);
}

function hasDoubles(value: readonly unknown[]): boolean {
  if (value.every((item) => typeof item !== "object")) return new Set(value).size < value.length;
  if (value.length > mostCompared) return false;
  return value.some((item, index) => value.slice(0, index).some((other) => isDeepStrictEqual(item, other)));
}
