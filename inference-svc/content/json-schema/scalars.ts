/** JSON Schema's keywords for strings and numbers, and its types. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import type { Yielding } from "../../turn/time-slice.ts";

/** A schema check under way. Keywords use it to check the parts of their value. */
export interface SchemaCheck {
  fits(schema: unknown, value: unknown): Yielding<boolean>;
  /** Whether the text matches; true for patterns that cannot run in linear time. */
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

/** Whether a size is within both bounds. A bound other than a number is ignored. */
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
  // In draft 4, `exclusiveMinimum` and `exclusiveMaximum` are booleans about the bound.
  if ((above === true && value === minimum) || (below === true && value === maximum)) return false;
  if (typeof unit !== "number" || unit <= 0) return true;
  const times = value / unit;
  // Tolerates rounding: 0.3 counts as a multiple of 0.1.
  return Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
}
