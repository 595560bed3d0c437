/**
 * Gives every object schema a name of its own. Generators of clients name the types of inline objects by their place, and some drop a schema, or a whole
 * operation, when two places get one name.
 */
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";

type Schemas = Readonly<Record<string, JsonSchema>>;

/** Keywords of JSON Schema whose value is data, not a schema. */
const dataKeywords: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples", "required"]);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isObjectSchema = (node: Readonly<Record<string, unknown>>): boolean =>
  node["type"] === "object" && isRecord(node["properties"]);

const toPascal = (word: string): string =>
  word
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join("");

/** @returns the same schemas, but with each nested object replaced by a reference to an added schema */
export function flattenSchemas(schemas: Schemas): Schemas {
  const flat = new Flat(schemas);
  for (const [name, schema] of Object.entries(schemas)) flat.add(name, schema);
  return flat.schemas;
}

class Flat {
  readonly schemas: Record<string, JsonSchema> = {};
  readonly #taken: Set<string>;
  /** Names of added schemas by the JSON of their objects, so that equal objects get one name. */
  readonly #names = new Map<string, string>();

  constructor(schemas: Schemas) {
    this.#taken = new Set(Object.keys(schemas));
  }

  add(name: string, schema: JsonSchema): void {
    this.schemas[name] = {};
    this.schemas[name] = this.#children(schema, name) as JsonSchema;
  }

  /** @param place name for the type of this node, unless it gets a name of its own */
  #flatten(node: unknown, place: string): unknown {
    if (Array.isArray(node)) return this.#variants(node, place);
    if (!isRecord(node)) return node;
    if (!isObjectSchema(node)) return this.#children(splitTypes(node), place);
    // Titles are removed: generators name types by their title, and several objects have the same title.
    const { title: _title, ...untitled } = node;
    const text = JSON.stringify(untitled);
    const known = this.#names.get(text);
    const name = known ?? this.#nameFor(place);
    if (known === undefined) {
      this.#names.set(text, name);
      this.add(name, untitled);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #children(node: Readonly<Record<string, unknown>>, place: string): object {
    return Object.fromEntries(
      Object.entries(node).map(([keyword, value]) => {
        if (dataKeywords.has(keyword)) return [keyword, value];
        if (keyword === "properties" && isRecord(value)) return [keyword, this.#properties(value, place)];
        return [keyword, this.#flatten(value, keyword === "items" ? `${place}Item` : place)];
      }),
    );
  }

  #properties(properties: Readonly<Record<string, unknown>>, place: string): object {
    const flat = Object.entries(properties).map(([name, schema]) => [
      name,
      this.#flatten(schema, `${place}${toPascal(name)}`),
    ]);
    return Object.fromEntries(flat) as object;
  }

  /** Names each variant by its title, `type` or `role`, and numbers the others if several are objects. */
  #variants(nodes: readonly unknown[], place: string): unknown[] {
    const objects = nodes.filter((node) => isRecord(node) && isObjectSchema(node));
    return nodes.map((node, index) => {
      const type = isRecord(node) ? (node["title"] ?? constantType(node)) : undefined;
      if (typeof type === "string") return this.#flatten(node, place + toPascal(type));
      return this.#flatten(node, objects.length > 1 ? `${place}${index + 1}` : place);
    });
  }

  #nameFor(place: string): string {
    let name = place;
    for (let count = 2; this.#taken.has(name); count++) name = `${place}${count}`;
    this.#taken.add(name);
    return name;
  }
}

/** Splits a schema of several types into one alternative for each type, because generators for Go reject a list of types. */
function splitTypes(node: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { type, items, ...others } = node;
  if (!Array.isArray(type) || type.filter((each) => each !== "null").length < 2) return node;
  return { ...others, anyOf: type.map((each) => ({ type: each, ...(each === "array" && { items }) })) };
}

/** The constant that distinguishes a variant of a union: its `type`, or the `role` of a message. */
function constantType({ properties }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isRecord(properties)) return undefined;
  const words = [properties["type"], properties["role"]].map((schema) =>
    isRecord(schema) ? (schema["const"] ?? (schema["enum"] as readonly unknown[] | undefined)?.[0]) : undefined,
  );
  return words.find((word) => typeof word === "string");
}
