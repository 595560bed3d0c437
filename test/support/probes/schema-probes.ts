/**
 * Probes of a request's published schema: for each field at any depth, minimal bodies with several valid values of the field. The schema comes from
 * the OpenAPI document, so a new field of an endpoint is probed without a change here.
 */
export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

export interface FieldProbe {
  /** Path of the field in the body. */
  readonly path: string;
  /** The path with the kinds of the objects around the field, such as `tools.0<web_search>.filters`. */
  readonly label: string;
  /** Bodies that differ in this field only; the first one omits the field if it is optional. */
  readonly bodies: readonly object[];
}

export interface ProbeRules {
  readonly schemas: Schemas;
  /** A valid string for a field, by its name, if its pattern does not suffice to construct one. */
  readonly sample: (name: string, schema: Schema, variant: number) => unknown;
  /** The entries that an array entry needs before and after it to be valid. */
  readonly among: (path: string, entry: unknown) => readonly [before: readonly unknown[], after: readonly unknown[]];
  /** Adds fields that an object requires although its schema does not say so. */
  readonly complete: (label: string, value: Readonly<Record<string, unknown>>) => object;
}

type Put = (value: unknown) => object;

interface Place {
  readonly path: string;
  readonly label: string;
  readonly put: Put;
  readonly seen: readonly string[];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const branchesOf = (schema: Schema): readonly Schema[] | undefined =>
  (schema["anyOf"] ?? schema["oneOf"]) as readonly Schema[] | undefined;

/** Maximum number of words tried for a field: more hardly ever reach different code. */
const maxValues = 3;

/** A name that no field has. */
const unknownName = "zz_probe";

/** Whether a probe is that of the unknown field, which each object has once. */
export const isUnknown = ({ path }: FieldProbe): boolean => path === unknownName || path.endsWith(`.${unknownName}`);

export class SchemaProbes {
  readonly #rules: ProbeRules;

  constructor(rules: ProbeRules) {
    this.#rules = rules;
  }

  /** @param body makes a complete body from a value of the schema */
  of(schema: Schema, body: (fields: object) => object): FieldProbe[] {
    const put: Put = (value) => body(value as object);
    return [...this.#within(schema, { path: "", label: "", put, seen: [] })];
  }

  *#within(schema: Schema, place: Place): Generator<FieldProbe> {
    const { $ref: reference } = schema as { $ref?: string };
    if (reference !== undefined) {
      // A recursive schema is probed only once.
      if (place.seen.includes(reference)) return;
      return yield* this.#within(this.#resolve(schema), { ...place, seen: [...place.seen, reference] });
    }
    for (const branch of branchesOf(schema) ?? []) yield* this.#within(branch, place);
    if (isRecord(schema["properties"])) yield* this.#fields(schema, place);
    if (schema["type"] === "array" && isRecord(schema["items"])) yield* this.#entry(schema["items"], place);
  }

  *#fields(schema: Schema, place: Place): Generator<FieldProbe> {
    const properties = schema["properties"] as Record<string, Schema>;
    const required = (schema["required"] ?? []) as readonly string[];
    const kind = this.#kindOf(properties);
    const label = kind === undefined ? place.label : `${place.label}<${kind}>`;
    const base = this.#rules.complete(label, this.#minimalObject(schema));
    for (const [name, field] of Object.entries(properties)) {
      const at = join(place.path, name);
      const named = join(label, name);
      const put: Put = (value) => place.put({ ...base, [name]: value });
      const { [name]: _, ...rest } = base as Record<string, unknown>;
      const isOptional = !required.includes(name) && !(name in base);
      const values = this.#isFixed(field) ? [] : this.#values(name, field);
      const bodies = [...(isOptional ? [place.put(rest)] : []), ...values.map(put)];
      if (bodies.length > 1) yield { path: at, label: named, bodies };
      yield* this.#within(field, { path: at, label: named, put, seen: place.seen });
    }
    if (schema["additionalProperties"] === undefined)
      yield {
        path: join(place.path, unknownName),
        label: join(label, unknownName),
        bodies: [place.put(base), place.put({ ...base, [unknownName]: 1 })],
      };
  }

  *#entry(items: Schema, place: Place): Generator<FieldProbe> {
    for (const [branch, seen] of this.#alternatives(items, place.seen)) {
      const [before] = this.#rules.among(place.path, this.#minimal("", branch));
      const path = join(place.path, `${before.length}`);
      const put: Put = (value) => {
        const [first, last] = this.#rules.among(place.path, value);
        return place.put([...first, value, ...last]);
      };
      yield* this.#within(branch, { path, label: join(place.label, "0"), put, seen });
    }
  }

  /** The alternatives of a schema, each with the references that lead to it. */
  #alternatives(schema: Schema, seen: readonly string[]): readonly (readonly [Schema, readonly string[]])[] {
    const branches = branchesOf(this.#resolve(schema));
    if (branches === undefined) return [[schema, seen]];
    const { $ref: reference } = schema as { $ref?: string };
    if (reference !== undefined && seen.includes(reference)) return [];
    const deeper = reference === undefined ? seen : [...seen, reference];
    return branches.flatMap((branch) => this.#alternatives(branch, deeper));
  }

  #kindOf({ type, role }: Record<string, Schema>): string | undefined {
    const words = [type, role].flatMap((field) => {
      const { const: one, enum: several } = field ?? {};
      return typeof one === "string" ? [one] : Array.isArray(several) && several.length === 1 ? several : [];
    });
    return words.length === 0 ? undefined : words.join(" ");
  }

  #resolve(schema: Schema): Schema {
    const { $ref: reference } = schema as { $ref?: string };
    return reference === undefined ? schema : this.#resolve(this.#rules.schemas[reference.split("/").at(-1)!]!);
  }

  /** Whether a field has only one value besides null, so it carries no information. */
  #isFixed(schema: Schema): boolean {
    const resolved = this.#resolve(schema);
    const branches = branchesOf(resolved)?.filter(({ type }) => type !== "null");
    if (branches) return branches.length === 1 && this.#isFixed(branches[0]!);
    const { const: fixed, enum: words, type } = resolved;
    return fixed !== undefined || type === "null" || (Array.isArray(words) && words.length === 1);
  }

  /** Valid values of a field, of which at least one differs from its default. */
  #values(name: string, schema: Schema): readonly unknown[] {
    const resolved = this.#resolve(schema);
    const branches = branchesOf(resolved);
    if (branches) return branches.flatMap((branch) => this.#values(name, branch)).filter((value) => value !== null);
    if (resolved["const"] !== undefined) return [resolved["const"]];
    if (Array.isArray(resolved["enum"])) return resolved["enum"].slice(-maxValues);
    switch (resolved["type"]) {
      case "boolean":
        return [false, true];
      case "string":
      case "integer":
      case "number":
        return [0, 1].map((variant) => this.#scalar(name, resolved, variant));
      case "array": {
        const entries = this.#values(name, (resolved["items"] ?? {}) as Schema);
        return entries.slice(0, maxValues).map((entry) => [entry]);
      }
      case "object": {
        const value = this.#minimal(name, resolved) as object;
        // An empty object carries no information; its fields are probed instead.
        return Object.keys(value).length === 0 ? [] : [value];
      }
      default:
        return [this.#minimal(name, resolved)];
    }
  }

  #scalar(name: string, schema: Schema, variant: number): unknown {
    const given = this.#rules.sample(name, schema, variant);
    if (given !== undefined) return given;
    if (schema["type"] === "string") return `probe-${variant}`;
    const { minimum = 0, maximum } = schema as { minimum?: number; maximum?: number };
    const step = schema["type"] === "integer" ? 1 : 0.125;
    const low = Math.max(minimum, 0);
    const value = low + step * (variant + 2);
    return maximum === undefined || value <= maximum ? value : maximum - step * variant;
  }

  #minimal(name: string, schema: Schema): unknown {
    const resolved = this.#resolve(schema);
    const branches = branchesOf(resolved);
    if (branches) return this.#minimal(name, branches[0]!);
    if (resolved["const"] !== undefined) return resolved["const"];
    if (Array.isArray(resolved["enum"])) return resolved["enum"][0];
    switch (resolved["type"]) {
      case "boolean":
        return true;
      case "string":
      case "integer":
      case "number":
        return this.#scalar(name, resolved, 0);
      case "null":
        return null;
      case "array":
        return ((resolved["minItems"] as number | undefined) ?? 0) > 0
          ? [this.#minimal(name, resolved["items"] as Schema)]
          : [];
      case "object":
        return this.#minimalObject(resolved, name);
      default:
        return "probe";
    }
  }

  #key(names: Schema | undefined): string {
    return typeof names?.["pattern"] === "string" && names["pattern"].includes("\\d") ? "50256" : "probe";
  }

  #minimalObject(schema: Schema, name = ""): Record<string, unknown> {
    const { properties: of, additionalProperties: other, propertyNames: names } = schema;
    const properties = (of ?? {}) as Record<string, Schema>;
    if (of === undefined && other !== undefined && other !== false)
      return this.#rules.complete(name, {
        [this.#key(names as Schema)]: this.#minimal("", isRecord(other) ? other : {}),
      }) as Record<string, unknown>;
    const required = (schema["required"] ?? []) as readonly string[];
    const fields = Object.fromEntries(required.map((key) => [key, this.#minimal(key, properties[key] ?? {})]));
    const kind = this.#kindOf(properties);
    const label = kind === undefined ? name : `${name}<${kind}>`;
    return this.#rules.complete(label, fields) as Record<string, unknown>;
  }
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);
