/** Random bodies, generated from the published schema of the request. */
import type { JsonSchema } from "@sluice/proto/lib/validation/shape.js";
import { document } from "../answers/published.ts";
import type { Random } from "../random.ts";
import type { FuzzedFormat } from "./format.ts";
import type { JsonObject } from "./json.ts";
import { unusualKeys, boundaryLengths, unusualNumbers, unusualTexts } from "./words.ts";

/** Depth beyond which only required parts are generated. */
const depthLimit = 7;

export class Generator {
  readonly #random: Random;
  readonly #format: FuzzedFormat;

  constructor(random: Random, format: FuzzedFormat) {
    this.#random = random;
    this.#format = format;
  }

  body(): JsonObject {
    const { schemas, conversation, rare } = this.#format;
    const body = this.#value({ $ref: `#/components/schemas/${schemas.request}` }, 0) as JsonObject;
    if (this.#random.chance(0.95)) body["model"] = this.#random.pick(["acme/large", "sluice/echo"]);
    const { field, short } = conversation;
    if (this.#random.chance(0.3)) body[field] = structuredClone(short);
    else body[field] ??= this.#value(this.#field(schemas.request, field), 1);
    for (const field of rare) if (this.#random.chance(0.9)) delete body[field];
    return body;
  }

  #field(schema: string, field: string): JsonSchema {
    const properties = document.components.schemas[schema]?.["properties"] as Readonly<Record<string, JsonSchema>>;
    return properties[field] as JsonSchema;
  }

  /** A value that the schema accepts, most of the time. */
  #value(schema: JsonSchema, depth: number): unknown {
    const reference = schema["$ref"];
    if (typeof reference === "string") {
      return this.#value(document.components.schemas[reference.slice(reference.lastIndexOf("/") + 1)] ?? {}, depth);
    }
    if ("const" in schema) return schema["const"];
    if (Array.isArray(schema["enum"])) return this.#random.pick(schema["enum"] as unknown[]);
    if (Array.isArray(schema["anyOf"])) return this.#choice(schema["anyOf"] as JsonSchema[], depth);
    switch (schema["type"]) {
      case "string":
        return this.#text(schema);
      case "boolean":
        return this.#random.chance(0.5);
      case "integer":
      case "number":
        return this.#number(schema);
      case "array":
        return this.#array(schema, depth);
      case "object":
        return this.#object(schema, depth);
      case "null":
        return null;
      default:
        return this.#anything(depth);
    }
  }

  #choice(choices: readonly JsonSchema[], depth: number): unknown {
    const plain = choices.filter(({ type }) => type === "null" || type === "string");
    if (depth > depthLimit && plain.length > 0) return this.#value(this.#random.pick(plain), depth);
    return this.#value(this.#random.pick(choices), depth);
  }

  #text({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: JsonSchema): string {
    const form = typeof pattern === "string" ? new RegExp(pattern, "u") : /^/;
    const fits = (text: string) =>
      text.length >= Number(minLength) && text.length <= Number(maxLength) && form.test(text);
    for (let tries = 0; tries < 4; tries++) {
      const text = this.#random.chance(0.05)
        ? "a".repeat(this.#random.pick(boundaryLengths))
        : this.#random.pick(unusualTexts);
      if (fits(text)) return text;
    }
    const named = `n${this.#random.below(8)}`;
    return [named, "1", "2026-01-31"].find(fits) ?? named;
  }

  #number({ type, minimum, maximum, exclusiveMinimum }: JsonSchema): number {
    const least = Number(minimum ?? exclusiveMinimum ?? -10);
    const most = Number(maximum ?? 100);
    const value = this.#random.pick([least, most, least + this.#random.next() * Math.min(100, most - least)]);
    const fitting = value === exclusiveMinimum ? most : value;
    return type === "integer" ? Math.round(fitting) : fitting;
  }

  #array({ items = {}, minItems = 0, maxItems = 3 }: JsonSchema, depth: number): unknown[] {
    const more =
      depth > depthLimit ? 0 : this.#random.below(1 + Math.max(0, Math.min(3, Number(maxItems) - Number(minItems))));
    return Array.from({ length: Number(minItems) + more }, () => this.#value(items as JsonSchema, depth + 1));
  }

  #object({ properties = {}, required = [], additionalProperties }: JsonSchema, depth: number): JsonObject {
    const needed = new Set(required as readonly string[]);
    const optional = depth > depthLimit ? 0 : depth === 0 ? 0.12 : 0.3;
    const object: JsonObject = {};
    for (const [name, schema] of Object.entries(properties as Readonly<Record<string, JsonSchema>>)) {
      if (needed.has(name) || this.#random.chance(optional)) object[name] = this.#value(schema, depth + 1);
    }
    if (typeof additionalProperties === "object" && additionalProperties !== null && depth <= depthLimit) {
      for (let count = this.#random.below(3); count > 0; count--) {
        setOwn(object, this.#random.pick(unusualKeys), this.#value(additionalProperties as JsonSchema, depth + 1));
      }
    }
    return object;
  }

  #anything(depth: number): unknown {
    const simple = [null, true, this.#random.pick(unusualNumbers), this.#random.pick(unusualTexts)];
    if (depth > depthLimit) return this.#random.pick(simple);
    return this.#random.pick([...simple, [this.#random.pick(unusualTexts)], { [this.#random.pick(unusualTexts)]: 1 }]);
  }
}

/** Sets a member also if assignment would not create it, such as `__proto__`. */
export const setOwn = (object: JsonObject, name: string, value: unknown): void =>
  void Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
