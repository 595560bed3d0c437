/** Shapes of strings, numbers and the rest that holds nothing else. */
import type { Problems } from "../problems.ts";
import { hasNul, isLongerThan, isWellFormed } from "../text.ts";
import type { JsonSchema, Shape } from "./base.ts";

export interface StringLimits {
  /** Unicode code points. */
  readonly min?: number;
  readonly max?: number;
  /** What the text must match, and how a person says that. */
  readonly pattern?: { readonly form: RegExp; readonly says: string };
  /** By this text something is stored, found or compared: no NUL, no half of a surrogate pair. */
  readonly identifier?: boolean;
}

export function string({ min = 0, max, pattern, identifier = false }: StringLimits = {}): Shape<string> {
  return {
    check: (value, path, problems, or = "") => {
      if (typeof value !== "string") return problems.add(path, `must be a string${or}`);
      if (min > 0 && value.length < min) problems.add(path, `at least ${min} character${min === 1 ? "" : "s"}`);
      if (max !== undefined && isLongerThan(value, max)) problems.add(path, `at most ${max} characters`);
      if (pattern && !pattern.form.test(value)) problems.add(path, pattern.says);
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

/** Halves of surrogate pairs need no pattern: no body with one is read. */
function patternSchema(form: string | undefined, identifier: boolean): JsonSchema {
  const withoutNul = "^[^\\u0000]*$";
  if (!identifier) return form === undefined ? {} : { pattern: form };
  return { pattern: withoutNul, ...(form !== undefined && { allOf: [{ pattern: form }] }) };
}

/** Of words, as a person says it. */
export const oneOf = (words: readonly string[]): string =>
  words.length === 1 ? `${words[0]}` : `one of ${words.join(", ")}`;

/** One of a few words. */
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
  /** The limits themselves are outside. */
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

/** Any spelling of a whole number: 1, 1.0 and 1e0 are the same. It fits into 32 bits where its range says nothing else. */
export const integer = (range: Range = {}): Shape<number> => ({
  check: (value, path, problems, or = "") => {
    if (typeof value !== "number" || !Number.isInteger(value)) return problems.add(path, `must be an integer${or}`);
    if (range.max === undefined && value > maxInt32) return problems.add(path, `must be at most ${maxInt32}`);
    if (range.min === undefined && value < -maxInt32) return problems.add(path, `must be at least ${-maxInt32}`);
    checkRange(value, range, path, problems);
  },
  schema: () => ({ type: "integer", ...rangeSchema({ min: -maxInt32, max: maxInt32, ...range }) }),
});

/** Exactly this value. @param says why no other makes sense */
export const constant = <const Only extends number | boolean | null>(
  only: Only,
  says = `must be ${only}`,
): Shape<Only> => ({
  check: (value, path, problems) => {
    if (value !== only) problems.add(path, says);
  },
  schema: () => ({ type: only === null ? "null" : typeof only, const: only }),
});
