/** Reads fields of a JSON object by their types. A field of a wrong type is a problem; a missing field is none. */
import type { Problems } from "./problems.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Marks a field in which null counts as unset; in other fields null has the wrong type. */
type Nullable = "nullable";

const maxInt32 = 2_147_483_647;

export class Fields {
  readonly #object: JsonObject;
  readonly #prefix: string;
  readonly #problems: Problems;

  /** @param path path of the object; empty for the body itself */
  constructor(object: JsonObject, path: string, problems: Problems) {
    this.#object = object;
    this.#prefix = path === "" ? "" : `${path}.`;
    this.#problems = problems;
  }

  /** Path of a field of this object. */
  path(name: string): string {
    return this.#prefix + name;
  }

  problem(name: string, message: string): undefined {
    return this.#problems.add(this.path(name), message);
  }

  /** Value of a field without a check; undefined when unset. */
  raw(name: string, nullable?: Nullable): unknown {
    const value = this.#object[name];
    return value === null && nullable ? undefined : value;
  }

  string(name: string, nullable?: Nullable): string | undefined {
    const value = this.raw(name, nullable);
    if (value === undefined || typeof value === "string") return value;
    return this.problem(name, `must be a string${orNull(nullable)}`);
  }

  /** Reads a required string; a missing one is a problem. */
  requiredString(name: string): string | undefined {
    if (this.#object[name] === undefined) return this.problem(name, "required");
    return this.string(name);
  }

  /** Reads a word; any word that is not allowed is a problem. */
  word(name: string, allowed: ReadonlySet<string>, nullable?: Nullable): string | undefined {
    const value = this.string(name, nullable);
    if (value === undefined || allowed.has(value)) return value;
    return this.problem(name, `must be one of ${[...allowed].join(", ")}`);
  }

  boolean(name: string, nullable?: Nullable): boolean | undefined {
    const value = this.raw(name, nullable);
    if (value === undefined || typeof value === "boolean") return value;
    return this.problem(name, `must be true or false${orNull(nullable)}`);
  }

  number(name: string, nullable?: Nullable): number | undefined {
    const value = this.raw(name, nullable);
    if (value === undefined || typeof value === "number") return value;
    return this.problem(name, `must be a number${orNull(nullable)}`);
  }

  /** Reads a whole number in any notation: 1, 1.0 and 1e0 are the same. */
  integer(name: string, nullable?: Nullable): number | undefined {
    const value = this.raw(name, nullable);
    if (value === undefined) return undefined;
    if (typeof value !== "number" || !Number.isInteger(value)) {
      return this.problem(name, `must be an integer${orNull(nullable)}`);
    }
    if (Math.abs(value) > maxInt32) return this.problem(name, `must be at most ${maxInt32}`);
    return value + 0; // turns -0 into 0
  }

  object(name: string, nullable?: Nullable): JsonObject | undefined {
    const value = this.raw(name, nullable);
    if (value === undefined || isObject(value)) return value;
    return this.problem(name, `must be an object${orNull(nullable)}`);
  }

  array(name: string, nullable?: Nullable): readonly unknown[] | undefined {
    const value = this.raw(name, nullable);
    if (value === undefined || Array.isArray(value)) return value;
    return this.problem(name, `must be an array${orNull(nullable)}`);
  }

  /** Reads an array of strings. An entry of another type is a problem and is left out. */
  strings(name: string, nullable?: Nullable): string[] | undefined {
    return this.array(name, nullable)?.filter((entry, index): entry is string => {
      if (typeof entry === "string") return true;
      this.problem(`${name}.${index}`, "must be a string");
      return false;
    });
  }
}

const orNull = (nullable: Nullable | undefined): string => (nullable ? " or null" : "");
