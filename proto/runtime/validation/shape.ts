/**
 * Shapes of JSON values: one description that checks a value by hand-written code and prints itself as JSON Schema, so that the published
 * document cannot say anything else than what is enforced.
 */
import { type JsonObject, isObject } from "./fields.ts";
import type { Problems } from "./problems.ts";
import { hasNul, isLongerThan, isWellFormed } from "./text.ts";

/** JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Definitions by name, filled while a schema is printed. */
export type Components = Map<string, JsonSchema>;

export interface Shape {
  /**
   * Adds a problem for everything that is wrong; `path` is where the value stands in the request.
   * @param or completes "must be a string" where something else is accepted, too
   */
  readonly check: (value: unknown, path: string, problems: Problems, or?: string) => void;
  readonly schema: (components: Components) => JsonSchema;
  /** Whether null is accepted. */
  readonly takesNull?: boolean;
}

export const child = (path: string, name: string | number): string => (path === "" ? `${name}` : `${path}.${name}`);

/** Any JSON value. */
export const anything: Shape = { takesNull: true, check: () => {}, schema: () => ({}) };

export interface StringLimits {
  /** Unicode code points. */
  readonly min?: number;
  readonly max?: number;
  /** What the text must match, and how a person says that. */
  readonly pattern?: { readonly form: RegExp; readonly says: string };
  /** By this text something is stored, found or compared: no NUL, no half of a surrogate pair. */
  readonly identifier?: boolean;
}

export function string({ min = 0, max, pattern, identifier = false }: StringLimits = {}): Shape {
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

const oneOf = (words: readonly string[]): string => (words.length === 1 ? `${words[0]}` : `one of ${words.join(", ")}`);

/** One of a few words. */
export function word(...words: readonly string[]): Shape {
  const allowed = new Set(words);
  return {
    check: (value, path, problems, or = "") => {
      if (typeof value !== "string") problems.add(path, `must be a string${or}`);
      else if (!allowed.has(value)) problems.add(path, `must be ${oneOf(words)}`);
    },
    schema: () => (words.length === 1 ? { type: "string", const: words[0] } : { type: "string", enum: words }),
  };
}

export const boolean: Shape = {
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

export const number = (range: Range = {}): Shape => ({
  check: (value, path, problems, or = "") => {
    if (typeof value !== "number") problems.add(path, `must be a number${or}`);
    else checkRange(value, range, path, problems);
  },
  schema: () => ({ type: "number", ...rangeSchema(range) }),
});

/** Any spelling of a whole number: 1, 1.0 and 1e0 are the same. It fits into 32 bits where its range says nothing else. */
export const integer = (range: Range = {}): Shape => ({
  check: (value, path, problems, or = "") => {
    if (typeof value !== "number" || !Number.isInteger(value)) return problems.add(path, `must be an integer${or}`);
    if (range.max === undefined && value > maxInt32) return problems.add(path, `must be at most ${maxInt32}`);
    if (range.min === undefined && value < -maxInt32) return problems.add(path, `must be at least ${-maxInt32}`);
    checkRange(value, range, path, problems);
  },
  schema: () => ({ type: "integer", ...rangeSchema({ min: -maxInt32, max: maxInt32, ...range }) }),
});

/** Exactly this value. @param says why no other makes sense */
export const constant = (only: number | boolean | null, says = `must be ${only}`): Shape => ({
  check: (value, path, problems) => {
    if (value !== only) problems.add(path, says);
  },
  schema: () => ({ type: only === null ? "null" : typeof only, const: only }),
});

/** Null counts as unset. */
export function nullable(shape: Shape): Shape {
  if (shape.takesNull) return shape;
  return {
    takesNull: true,
    check: (value, path, problems) => {
      if (value !== null) shape.check(value, path, problems, " or null");
    },
    schema: (components) => ({ anyOf: [shape.schema(components), { type: "null" }] }),
  };
}

export interface ArrayLimits {
  readonly min?: number;
  readonly max?: number;
  /** What one entry is called. */
  readonly entry?: string;
  /** What the entries together must fulfil. */
  readonly also?: (entries: readonly unknown[], path: string, problems: Problems) => void;
}

export function array(of: Shape, { min = 0, max, entry = "entry", also }: ArrayLimits = {}): Shape {
  const plural = entry.endsWith("y") ? `${entry.slice(0, -1)}ies` : `${entry}s`;
  return {
    check: (value, path, problems, or = "") => {
      if (!Array.isArray(value)) return problems.add(path, `must be an array${or}`);
      if (value.length < min) problems.add(path, `at least ${min} ${min === 1 ? entry : plural}`);
      if (max !== undefined && value.length > max) return problems.add(path, `at most ${max} ${plural}`);
      for (let index = 0; index < value.length; index++) of.check(value[index], child(path, index), problems);
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
  /** Pairs. */
  readonly max?: number;
  readonly key?: {
    /** @param path of the map */
    readonly check: (key: string, path: string, problems: Problems) => void;
    readonly schema: JsonSchema;
  };
}

/** String keys to values of one shape. */
export const map = (of: Shape, { max, key }: MapRules = {}): Shape => ({
  check: (value, path, problems, or = "") => {
    if (!isObject(value)) return problems.add(path, `must be an object${or}`);
    const names = Object.keys(value);
    if (max !== undefined && names.length > max) return problems.add(path, `at most ${max} pairs`);
    for (const name of names) {
      key?.check(name, path, problems);
      of.check(value[name], child(path, name.slice(0, 64)), problems);
    }
  },
  schema: (components) => ({
    type: "object",
    additionalProperties: of.schema(components),
    ...(max !== undefined && { maxProperties: max }),
    ...(key && { propertyNames: key.schema }),
  }),
});

export interface ObjectRules {
  readonly required?: readonly string[];
  /** Fields that nobody knows are problems; otherwise they are ignored. */
  readonly strict?: boolean;
  /** What several fields together must fulfil; JSON Schema does not show it, so a description should. */
  readonly also?: (object: JsonObject, path: string, problems: Problems) => void;
  readonly description?: string;
}

export interface ObjectShape extends Shape {
  readonly fields: Readonly<Record<string, Shape>>;
  readonly rules: ObjectRules;
}

export function object(fields: Readonly<Record<string, Shape>>, rules: ObjectRules = {}): ObjectShape {
  const { required = [], strict = false, also, description } = rules;
  const names = Object.keys(fields);
  const shapes = Object.values(fields);
  const needed = names.map((name) => required.includes(name));
  return {
    fields,
    rules,
    check: (value, path, problems, or = "") => {
      if (!isObject(value)) return problems.add(path, `must be an object${or}`);
      // By index: this is what a request's checks consist of.
      for (let index = 0; index < names.length; index++) {
        const name = names[index]!;
        const field = value[name];
        if (field !== undefined) shapes[index]!.check(field, child(path, name), problems);
        else if (needed[index]) problems.add(child(path, name), "required");
      }
      if (strict) checkUnknown(value, fields, path, problems);
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

function checkUnknown(value: JsonObject, fields: Readonly<Record<string, Shape>>, path: string, problems: Problems) {
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(fields, name)) problems.add(child(path, name.slice(0, 64)), "unknown field");
  }
}

export interface Tagged extends Shape {
  readonly kinds: ReadonlyMap<string, Shape>;
}

export interface TagRules {
  /** The kind of an object without the tag. */
  readonly untagged?: (object: JsonObject) => Shape | undefined;
  /** Kinds that exist, but not here. */
  readonly elsewhere?: readonly string[];
  /** Whether a kind that nobody knows is answered with the list of those there are. */
  readonly listed?: boolean;
  /** What one of them is called; the tag when absent. */
  readonly called?: string;
}

/** Objects whose field `tag` says which of the kinds they are. */
export function tagged(tag: string, kinds: Readonly<Record<string, Shape>>, rules: TagRules = {}): Tagged {
  const byKind = new Map(Object.entries(kinds));
  const { untagged, elsewhere = [], listed = false, called = tag } = rules;
  const unknown = (kind: string): string => {
    if (listed) return `must be ${oneOf([...byKind.keys()])}`;
    if (!elsewhere.includes(kind)) return `unknown ${called} ${kind.slice(0, 64)}`;
    return `${kind} is not possible here; use ${oneOf([...byKind.keys()])}`;
  };
  return {
    kinds: byKind,
    check: (value, path, problems, or = "") => {
      if (!isObject(value)) return problems.add(path, `must be an object${or}`);
      const kind = value[tag];
      if (kind === undefined) {
        const shape = untagged?.(value);
        return shape ? shape.check(value, path, problems) : problems.add(child(path, tag), "required");
      }
      if (typeof kind !== "string") return problems.add(child(path, tag), "must be a string");
      const shape = byKind.get(kind);
      if (shape) shape.check(value, path, problems);
      else problems.add(child(path, tag), unknown(kind));
    },
    schema: (components) => ({ anyOf: [...new Set(byKind.values())].map((shape) => shape.schema(components)) }),
  };
}

/** The same where further kinds may come, of which nothing is known but that they have a tag. */
export function openTagged(tag: string, kinds: Readonly<Record<string, Shape>>): Tagged {
  const known = tagged(tag, kinds);
  return {
    kinds: known.kinds,
    check: (value, path, problems) => {
      const kind = isObject(value) ? value[tag] : undefined;
      if (typeof kind !== "string" || known.kinds.has(kind)) known.check(value, path, problems);
    },
    schema: (components) => {
      const other = { type: "string", not: { enum: [...known.kinds.keys()] } };
      const rest = { type: "object", title: "Other kinds", properties: { [tag]: other }, required: [tag] };
      return { anyOf: [...(known.schema(components)["anyOf"] as JsonSchema[]), rest] };
    },
  };
}

/** A string or something else: what the client most likely meant is told by the type of what it sent. */
export const stringOr = (text: Shape, other: Shape, says: string): Shape => ({
  check: (value, path, problems) => {
    if (typeof value === "string") text.check(value, path, problems);
    else if (typeof value === "object" && value !== null) other.check(value, path, problems);
    else problems.add(path, says);
  },
  schema: (components) => ({ anyOf: [text.schema(components), other.schema(components)] }),
});

/** One, or an array of at least one. */
export const oneOrMore = (of: Shape, entry: string): Shape => {
  const several = array(of, { min: 1, entry });
  return {
    check: (value, path, problems) => (Array.isArray(value) ? several : of).check(value, path, problems),
    schema: (components) => ({ anyOf: [of.schema(components), several.schema(components)] }),
  };
};

/** Printed, and checked elsewhere: by whoever reads the value. */
export const elsewhere = (shape: Shape): Shape => ({ check: () => {}, schema: shape.schema });

/** A definition of its own in the document. */
export const named = <S extends Shape>(name: string, shape: S): S => ({
  ...shape,
  schema: (components: Components) => {
    if (!components.has(name)) {
      // Held first, so that a shape may contain itself.
      components.set(name, {});
      components.set(name, shape.schema(components));
    }
    return { $ref: `#/components/schemas/${name}` };
  },
});

/** A shape that refers to itself. */
export const lazy = (shape: () => Shape): Shape => ({
  check: (value, path, problems, or) => shape().check(value, path, problems, or),
  schema: (components) => shape().schema(components),
});

export const described = <S extends Shape>(shape: S, description: string): S => ({
  ...shape,
  schema: (components: Components) => ({ ...shape.schema(components), description }),
});
