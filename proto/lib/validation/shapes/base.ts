/** A shape describes JSON values once: it checks a value and prints itself as JSON Schema, so the published document always states the enforced rules. */
import { Problems } from "../problems.ts";

/** JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Named definitions, filled while a schema is printed. */
export type Components = Map<string, JsonSchema>;

/** @typeParam Value the type of accepted values; `unknown` for a shape built without its type */
export interface Shape<Value = unknown> {
  /** Named definitions, collected while a schema is printed. */
  readonly accepts?: Value;
  /**
   * Adds a problem for everything wrong with the value.
   * @param path path of the value in the request
   * @param or completes "must be a string" when something else is accepted as well
   */
  readonly check: (value: unknown, path: string, problems: Problems, or?: string) => void;
  readonly schema: (components: Components) => JsonSchema;
  /** Whether null is accepted. */
  readonly takesNull?: boolean;
}

/** The type of a shape's accepted values. */
export type Accepted<S extends Shape> = S extends Shape<infer Value> ? Value : never;

/** Placeholder for every path within a value under test: building the paths of its fields would cost more than the test. */
const untold = "\0";

export function childPath(path: string, name: string | number): string {
  if (path === untold) return untold;
  return path === "" ? `${name}` : `${path}.${name}`;
}

/** Checks a value by its shape. Equivalent to `shape.check`, but faster for a value without problems. */
export function checkShape(shape: Shape, value: unknown, path: string, problems: Problems, or?: string): void {
  let ignores = false;
  const found = problems.onIgnored ? new Problems(() => (ignores = true)) : new Problems();
  shape.check(value, untold, found, or);
  if (!found.empty || ignores) shape.check(value, path, problems, or);
}

/** Any JSON value. */
export const anyValue: Shape = { takesNull: true, check: () => {}, schema: () => ({}) };
