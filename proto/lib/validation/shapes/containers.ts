/** Shapes of arrays, maps and objects with known fields. */
import { type JsonObject, isObject } from "../fields.ts";
import type { Problems } from "../problems.ts";
import { type Accepted, type JsonSchema, type Shape, childPath } from "./base.ts";

export interface ArrayLimits {
  readonly min?: number;
  readonly max?: number;
  /** Word for one entry in error texts. */
  readonly entry?: string;
  /** An additional check of all entries together. */
  readonly also?: (entries: readonly unknown[], path: string, problems: Problems) => void;
}

export function array<Entry>(
  of: Shape<Entry>,
  { min = 0, max, entry = "entry", also }: ArrayLimits = {},
): Shape<Entry[]> {
  const plural = entry.endsWith("y") ? `${entry.slice(0, -1)}ies` : `${entry}s`;
  return {
    check: (value, path, problems, or = "") => {
      if (!Array.isArray(value)) return problems.add(path, `must be an array${or}`);
      if (value.length < min) problems.add(path, `at least ${min} ${min === 1 ? entry : plural}`);
      if (max !== undefined && value.length > max) return problems.add(path, `at most ${max} ${plural}`);
      for (let index = 0; index < value.length; index++) of.check(value[index], childPath(path, index), problems);
      also?.(value, path, problems);
    },
    schema: (components) => ({
      type: "array",
      items: of.schema(components),
      ...(min > 0 && { minItems: min }),
      ...(max !== undefined && { maxItems: max }),
    }),
  };
}

export interface MapRules {
  /** Maximum number of entries in the map. */
  readonly max?: number;
  readonly key?: {
    /** Checks a key. @param path of the map */
    readonly check: (key: string, path: string, problems: Problems) => void;
    readonly schema: JsonSchema;
  };
}

/** A map from strings to values of one shape. */
export const map = <Value>(of: Shape<Value>, { max, key }: MapRules = {}): Shape<Readonly<Record<string, Value>>> => ({
  check: (value, path, problems, or = "") => {
    if (!isObject(value)) return problems.add(path, `must be an object${or}`);
    const names = Object.keys(value);
    if (max !== undefined && names.length > max) return problems.add(path, `at most ${max} pairs`);
    for (const name of names) {
      key?.check(name, path, problems);
      of.check(value[name], childPath(path, name.slice(0, 64)), problems);
    }
  },
  schema: (components) => ({
    type: "object",
    additionalProperties: of.schema(components),
    ...(max !== undefined && { maxProperties: max }),
    ...(key && { propertyNames: key.schema }),
  }),
});

export interface ObjectRules<Required extends string = string> {
  readonly required?: readonly Required[];
  /** Whether an unknown field is a problem; otherwise it is ignored. */
  readonly strict?: boolean;
  /** An additional check over several fields. JSON Schema cannot express it, so the description should. */
  readonly also?: (object: JsonObject, path: string, problems: Problems) => void;
  readonly description?: string;
}

type Fields = Readonly<Record<string, Shape>>;

/** Type of an accepted object; optional fields may be absent. */
type AcceptedObject<F extends Fields, Required extends string> = {
  readonly [Name in Exclude<keyof F, Required>]?: Accepted<F[Name]>;
} & { readonly [Name in keyof F & Required]: Accepted<F[Name]> };

export interface ObjectShape<F extends Fields = Fields, Value = unknown> extends Shape<Value> {
  readonly fields: F;
  readonly rules: ObjectRules;
}

export function object<const F extends Fields, const Required extends string = never>(
  fields: F,
  rules: ObjectRules<Required> = {},
): ObjectShape<F, AcceptedObject<F, Required>> {
  const { strict = false, also, description } = rules;
  const required: readonly string[] = rules.required ?? [];
  const names = Object.keys(fields);
  const shapes = Object.values(fields);
  const needed = names.map((name) => required.includes(name));
  return {
    fields,
    rules,
    check: (value, path, problems, or = "") => {
      if (!isObject(value)) return problems.add(path, `must be an object${or}`);
      // An indexed loop is fastest, and requests spend most of their checking time here.
      for (let index = 0; index < names.length; index++) {
        const name = names[index]!;
        const field = value[name];
        if (field !== undefined) shapes[index]!.check(field, childPath(path, name), problems);
        else if (needed[index]) problems.add(childPath(path, name), "required");
      }
      if (strict) checkUnknown(value, fields, path, problems);
      else if (problems.onIgnored) noteUnknown(value, fields, path, problems.onIgnored);
      also?.(value, path, problems);
    },
    schema: (components) => ({
      type: "object",
      ...(description !== undefined && { description }),
      properties: Object.fromEntries(Object.entries(fields).map(([name, shape]) => [name, shape.schema(components)])),
      ...(required.length > 0 && { required }),
      ...(strict && { additionalProperties: false }),
    }),
  };
}

const checkUnknown = (value: JsonObject, fields: Fields, path: string, problems: Problems): void =>
  eachUnknown(value, fields, path, (unknown) => problems.add(unknown, "unknown field"));

/** Reports ignored fields, except those with null, which some clients send for every field of their types. */
const noteUnknown = (value: JsonObject, fields: Fields, path: string, visit: (path: string) => void): void =>
  eachUnknown(value, fields, path, (unknown, name) => {
    if (value[name] !== null) visit(unknown);
  });

function eachUnknown(
  value: JsonObject,
  fields: Fields,
  path: string,
  visit: (path: string, name: string) => void,
): void {
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(fields, name)) visit(childPath(path, name.slice(0, 64)), name);
  }
}
