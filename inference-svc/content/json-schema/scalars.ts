/** Keywords of JSON Schema for strings and numbers, and its types. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import type { Yielding } from "../../turn/time-slice.ts";

/** A check of a value, passed on by keywords to the parts of the value. */
export interface SchemaCheck {
  fits(schema: unknown, value: unknown): Yielding<boolean>;
  /** True for patterns without a linear-time form. */
  matches(pattern: string, text: string): Yielding<boolean>;
}

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

export const isOfType = (name: unknown, value: unknown): boolean => types[String(name)]?.(value) ?? false;

/** A bound other than a number is ignored. */
export const isWithin = (min: unknown, size: number, max: unknown): boolean =>
  !(typeof min === "number" && size < min) && !(typeof max === "number" && size > max);

export function* fitsString(
  { minLength, maxLength, pattern }: JsonObject,
  value: string,
  check: SchemaCheck,
): Yielding<boolean> {
  if (minLength !== undefined || maxLength !== undefined) {
    if (!isWithin(minLength, codePointLength(value), maxLength)) return false;
  }
  return typeof pattern !== "string" || (yield* check.matches(pattern, value));
}

export function fitsNumber(schema: JsonObject, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf: unit } = schema;
  if (!isWithin(minimum, value, maximum)) return false;
  if ((typeof above === "number" && value <= above) || (typeof below === "number" && value >= below)) return false;
  // Draft 4 used a boolean next to the bound.
  if ((above === true && value === minimum) || (below === true && value === maximum)) return false;
  if (typeof unit !== "number" || unit <= 0) return true;
  const times = value / unit;
  // Tolerates rounding: 0.3 counts as a multiple of 0.1.
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}
