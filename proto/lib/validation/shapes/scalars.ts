/** Shapes of strings, numbers, booleans and constants. */
import type { Problems } from "../problems.ts";
import { hasNul, isLongerThan, isWellFormed } from "../text.ts";
import type { JsonSchema, Shape } from "./base.ts";

export interface StringLimits {
  /** Minimum length in code points; `max` is measured in the same way. */
  readonly min?: number;
  readonly max?: number;
  /** Pattern that the text must match, with its description for error texts. */
  readonly pattern?: { readonly form: RegExp; readonly message: string };
  /** Whether the text is stored, searched or compared, in which case NUL and lone surrogates are refused. */
  readonly identifier?: boolean;
}

export function string({ min = 0, max, pattern, identifier = false }: StringLimits = {}): Shape<string> {
  return {
    check: (value, path, problems, or = "") => {
      if (typeof value !== "string") return problems.add(path, `must be a string${or}`);
      if (min > 0 && value.length < min) problems.add(path, `at least ${min} character${min === 1 ? "" : "s"}`);
      if (max !== undefined && isLongerThan(value, max)) problems.add(path, `at most ${max} characters`);
      if (pattern && !pattern.form.test(value)) problems.add(path, pattern.message);
      if (!identifier) return;
      if (hasNul(value)) problems.add(path, "must not contain NUL");
      if (!isWellFormed(value)) problems.add(path, "must be well-formed Unicode");
    },
    schema: () => ({
      type: "string",
      ...(min > 0 && { minLength: min }),
      ...(max !== undefined && { maxLength: max }),
      ...patternSchema(pattern?.form.source, identifier),
    }),
  };
}

/** The schema needs no pattern against lone surrogates, because a body with one is refused as a whole. */
function patternSchema(form: string | undefined, identifier: boolean): JsonSchema {
  const withoutNul = "^[^\\x00]*$";
  if (!identifier) return form === undefined ? {} : { pattern: form };
  return { pattern: withoutNul, ...(form !== undefined && { allOf: [{ pattern: form }] }) };
}

/** Lists the allowed words as a phrase for error texts. */
export const oneOf = (words: readonly string[]): string =>
  words.length === 1 ? `${words[0]}` : `one of ${words.join(", ")}`;

/** A string that must be one of several words. */
export function word<const Words extends readonly string[]>(...words: Words): Shape<Words[number]> {
  const allowed = new Set<string>(words);
  return {
    check: (value, path, problems, or = "") => {
      if (typeof value !== "string") problems.add(path, `must be a string${or}`);
      else if (!allowed.has(value)) problems.add(path, `must be ${oneOf(words)}`);
    },
    schema: () => (words.length === 1 ? { type: "string", const: words[0] } : { type: "string", enum: words }),
  };
}

export const boolean: Shape<boolean> = {
  check: (value, path, problems, or = "") => {
    if (typeof value !== "boolean") problems.add(path, `must be true or false${or}`);
  },
  schema: () => ({ type: "boolean" }),
};

interface Range {
  readonly min?: number;
  readonly max?: number;
  /** Lower limit, exclusive. */
  readonly above?: number;
}

const maxInt32 = 2_147_483_647;

const rangeSchema = ({ min, max, above }: Range): JsonSchema => ({
  ...(min !== undefined && { minimum: min }),
  ...(max !== undefined && { maximum: max }),
  ...(above !== undefined && { exclusiveMinimum: above }),
});

function checkRange(value: number, { min, max, above }: Range, path: string, problems: Problems): void {
  if (above !== undefined && !(value > above)) problems.add(path, `must be above ${above}`);
  if ((min === undefined || value >= min) && (max === undefined || value <= max)) return;
  if (min === undefined) problems.add(path, `must be at most ${max}`);
  else problems.add(path, max === undefined ? `must be at least ${min}` : `must be between ${min} and ${max}`);
}

export const number = (range: Range = {}): Shape<number> => ({
  check: (value, path, problems, or = "") => {
    if (typeof value !== "number") problems.add(path, `must be a number${or}`);
    else checkRange(value, range, path, problems);
  },
  schema: () => ({ type: "number", ...rangeSchema(range) }),
});

/**
 * A whole number in any notation: 1, 1.0 and 1e0 are the same. It must fit into 32 bits unless the range allows more.
 */
export const integer = (range: Range = {}): Shape<number> => ({
  check: (value, path, problems, or = "") => {
    if (typeof value !== "number" || !Number.isInteger(value)) return problems.add(path, `must be an integer${or}`);
    if (range.max === undefined && value > maxInt32) return problems.add(path, `must be at most ${maxInt32}`);
    if (range.min === undefined && value < -maxInt32) return problems.add(path, `must be at least ${-maxInt32}`);
    checkRange(value, range, path, problems);
  },
  schema: () => ({ type: "integer", ...rangeSchema({ min: -maxInt32, max: maxInt32, ...range }) }),
});

/** A constant value. @param message error text for any other value */
export const constant = <const Only extends number | boolean | null>(
  only: Only,
  message = `must be ${only}`,
): Shape<Only> => ({
  check: (value, path, problems) => {
    if (value !== only) problems.add(path, message);
  },
  schema: () => ({ type: only === null ? "null" : typeof only, const: only }),
});
