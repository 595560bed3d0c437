/** Shapes that are one of several others, told apart by a tag or by the type of what was sent. */
import { type JsonObject, isObject } from "../fields.ts";
import { type JsonSchema, type Shape, child } from "./base.ts";
import { array } from "./containers.ts";
import { oneOf } from "./scalars.ts";

/** Null counts as unset. */
export function nullable<Value>(shape: Shape<Value>): Shape<Value | null> {
  if (shape.takesNull) return shape;
  return {
    takesNull: true,
    check: (value, path, problems) => {
      if (value !== null) shape.check(value, path, problems, " or null");
    },
    schema: (components) => ({ anyOf: [shape.schema(components), { type: "null" }] }),
  };
}

export interface Tagged extends Shape {
  readonly kinds: ReadonlyMap<string, Shape>;
}

export interface TagRules {
  /** The kind of an object without the tag, or with null in its place. */
  readonly untagged?: (object: JsonObject) => Shape | undefined;
  /** Those of objects without the tag that are not among the kinds. */
  readonly shorthands?: readonly Shape[];
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
  const { untagged, shorthands = [], elsewhere = [], listed = false, called = tag } = rules;
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
      if (kind === undefined || kind === null) {
        const shape = untagged?.(value);
        if (shape) return shape.check(value, path, problems);
        return problems.add(child(path, tag), kind === null ? "must be a string" : "required");
      }
      if (typeof kind !== "string") return problems.add(child(path, tag), "must be a string");
      const shape = byKind.get(kind);
      if (shape) shape.check(value, path, problems);
      else problems.add(child(path, tag), unknown(kind));
    },
    schema: (components) => ({
      anyOf: [...new Set(byKind.values()), ...shorthands].map((shape) => shape.schema(components)),
    }),
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
