/** The keywords of JSON Schema. One that is not known says nothing. */
import { isDeepStrictEqual } from "node:util";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Pauses } from "../../turn/breath.ts";
import { fitsList } from "./lists.ts";
import { fitsObject } from "./objects.ts";
import { fitsNumber, fitsString, isOfType } from "./scalars.ts";
import type { Check } from "./schema.ts";

export function* fitsKeywords(schema: JsonObject, value: unknown, check: Check): Pauses<boolean> {
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

/** What is made of several schemas. */
function* fitsTogether(schema: JsonObject, value: unknown, check: Check): Pauses<boolean> {
  const { allOf, anyOf, oneOf, not, if: condition, then = true, else: otherwise = true } = schema;
  for (const each of listOf(allOf)) if (!(yield* check.fits(each, value))) return false;
  if (anyOf !== undefined && (yield* count(listOf(anyOf), value, check, 1)) === 0) return false;
  if (oneOf !== undefined && (yield* count(listOf(oneOf), value, check, 2)) !== 1) return false;
  if (not !== undefined && (yield* check.fits(not, value))) return false;
  if (condition === undefined) return true;
  return yield* check.fits((yield* check.fits(condition, value)) ? then : otherwise, value);
}

/** How many of them fit; no further than `enough`. */
function* count(schemas: readonly unknown[], value: unknown, check: Check, enough: number): Pauses<number> {
  let fitting = 0;
  for (const schema of schemas) {
    if (yield* check.fits(schema, value)) fitting++;
    if (fitting === enough) break;
  }
  return fitting;
}
