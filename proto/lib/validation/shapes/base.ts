/**
 * A shape describes JSON values once: it checks a value, and prints itself as JSON Schema, so the published
 * document always states the enforced rules.
 */
import { Problems } from "../problems.ts";

/** JSON Schema, draft 2020-12. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** Named definitions, collected while a schema is printed. */
export type Components = Map<string, JsonSchema>;

/**
 * Describes JSON values. @typeParam Value the type of accepted values; `unknown` for a shape that was built without it
 */
export interface Shape<Value = unknown> {
  /** Never set; it only carries the type of accepted values. */
  readonly accepts?: Value;
  /**
   * Adds a problem for everything wrong with the value.
   * @param path of the value in the request
   * @param or text that completes the error "must be a string" when something else is accepted too
   */
  readonly check: (value: unknown, path: string, problems: Problems, or?: string) => void;
  readonly schema: (components: Components) => JsonSchema;
  /** Whether null is accepted. */
  readonly takesNull?: boolean;
}

/** The type of the values that a shape accepts. */
export type Accepted<S extends Shape> = S extends Shape<infer Value> ? Value : never;

/**
 * Placeholder for all paths while a value is only tested: to build the paths of its fields would take longer than the
 * test.
 */
const untold = "\0";

export function childPath(path: string, name: string | number): string {
  if (path === untold) return untold;
  return path === "" ? `${name}` : `${path}.${name}`;
}

/** Checks a value by its shape. It has the same result as `shape.check`, but is faster for a value without problems. */
export function checkShape(shape: Shape, value: unknown, path: string, problems: Problems, or?: string): void {
  let ignores = false;
  const found = problems.onIgnored ? new Problems(() => (ignores = true)) : new Problems();
  shape.check(value, untold, found, or);
  if (!found.empty || ignores) shape.check(value, path, problems, or);
}

/** Any JSON value. */
export const anyValue: Shape = { takesNull: true, check: () => {}, schema: () => ({}) };
