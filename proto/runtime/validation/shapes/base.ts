/**
 * Shapes of JSON values: one description that checks a value by hand-written code and prints itself as JSON Schema, so that the published
 * document cannot say anything else than what is enforced.
 */
import type { Problems } from "../problems.ts";

/** JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Definitions by name, filled while a schema is printed. */
export type Components = Map<string, JsonSchema>;

/** @typeParam Value of what the shape accepts; `unknown` where a shape was built without its type */
export interface Shape<Value = unknown> {
  /** Never set: it carries the type of an accepted value to `Accepted`. */
  readonly accepts?: Value;
  /**
   * Adds a problem for everything that is wrong; `path` is where the value stands in the request.
   * @param or completes "must be a string" where something else is accepted, too
   */
  readonly check: (value: unknown, path: string, problems: Problems, or?: string) => void;
  readonly schema: (components: Components) => JsonSchema;
  /** Whether null is accepted. */
  readonly takesNull?: boolean;
}

/** The type of a value that a shape has accepted. */
export type Accepted<S extends Shape> = S extends Shape<infer Value> ? Value : never;

export const child = (path: string, name: string | number): string => (path === "" ? `${name}` : `${path}.${name}`);

/** Any JSON value. */
export const anything: Shape = { takesNull: true, check: () => {}, schema: () => ({}) };
