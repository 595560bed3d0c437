/** Shapes with alternatives, chosen by a tag or by the type of the value. */
import { type JsonObject, isObject } from "../fields.ts";
import { type JsonSchema, type Shape, childPath } from "./base.ts";
import { array } from "./containers.ts";
import { oneOf } from "./scalars.ts";

/** Allows null in addition to a shape; it counts as unset. */
export function nullable<Value>(shape: Shape<Value>): Shape<Value | null> {
  if (shape.takesNull) return shape;
  return {
    takesNull: true,
    check: (value, path, problems) => {
      if (value !== null) shape.check(value, path, problems, " or null");
    },
    schema: (components) => {
      const { description, ...inner } = shape.schema(components);
      const schema = { anyOf: [inner, { type: "null" }] };
      return description === undefined ? schema : { ...schema, description };
    },
  };
}

/** A shape whose null is the same as no field. Errors name only the values that say something. */
export const unsetByNull = <Value>(shape: Shape<Value>): Shape<Value | null> => ({
  ...nullable(shape),
  check: (value, path, problems, or) => {
    if (value !== null) shape.check(value, path, problems, or);
  },
});

export interface Tagged extends Shape {
  readonly kinds: ReadonlyMap<string, Shape>;
}

export interface TagRules {
  /** The shape of an object whose tag is absent or null. */
  readonly untagged?: (object: JsonObject) => Shape | undefined;
  /** Shapes of objects without the tag, which are only listed in the schema. */
  readonly shorthands?: readonly Shape[];
  /** Kinds that are valid in other places but not here; for the error text. */
  readonly elsewhere?: readonly string[];
  /** Whether the error for an unknown kind lists the known kinds. */
  readonly listed?: boolean;
  /** Word for a kind in error texts; by default the name of the tag. */
  readonly called?: string;
  /** Error text for an unknown kind that clients might expect to be valid. */
  readonly expected?: (kind: string) => string | undefined;
}

/** Objects whose field `tag` names one of several kinds, each with a shape. */
export function tagged(tag: string, kinds: Readonly<Record<string, Shape>>, rules: TagRules = {}): Tagged {
  const byKind = new Map(Object.entries(kinds));
  const { untagged, shorthands = [], elsewhere = [], listed = false, called = tag, expected } = rules;
  const unknown = (kind: string): string => {
    if (listed) return `must be ${oneOf([...byKind.keys()])}`;
    if (!elsewhere.includes(kind)) return expected?.(kind) ?? `unknown ${called} ${kind.slice(0, 64)}`;
    return `${kind} is not possible here; use ${oneOf([...byKind.keys()])}`;
  };
  return {
    kinds: byKind,
    check: (value, path, problems, or = "") => {
      if (!isObject(value)) return problems.add(path, `must be an object${or}`);
      const kind = value[tag];
      if (kind === undefined || kind === null) {
        const shape = untagged?.(value);
        if (shape) return shape.check(value, path, problems);
        return problems.add(childPath(path, tag), kind === null ? "must be a string" : "required");
      }
      if (typeof kind !== "string") return problems.add(childPath(path, tag), "must be a string");
      const shape = byKind.get(kind);
      if (shape) shape.check(value, path, problems);
      else problems.add(childPath(path, tag), unknown(kind));
    },
    schema: (components) => ({
      anyOf: [...new Set(byKind.values()), ...shorthands].map((shape) => shape.schema(components)),
    }),
  };
}

/** Objects whose field `tag` may also name an unknown kind, which is then not checked further. */
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

/** A string or another shape, chosen by the type of the value, so errors fit what the client meant. */
export const stringOr = (text: Shape, other: Shape, message: string): Shape => ({
  check: (value, path, problems) => {
    if (typeof value === "string") text.check(value, path, problems);
    else if (typeof value === "object" && value !== null) other.check(value, path, problems);
    else problems.add(path, message);
  },
  schema: (components) => ({ anyOf: [text.schema(components), other.schema(components)] }),
});

/** A single value, or an array of at least one such value. */
export const oneOrMore = (of: Shape, entry: string): Shape => {
  const several = array(of, { min: 1, entry });
  return {
    check: (value, path, problems) => (Array.isArray(value) ? several : of).check(value, path, problems),
    schema: (components) => ({ anyOf: [of.schema(components), several.schema(components)] }),
  };
};
