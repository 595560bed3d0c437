/** The vocabulary of the API: names of fields and values of enumerations, which contain no text chosen by a client. */
import type { Components, JsonSchema, Shape } from "@sluice/proto/lib/validation/shape.js";

export interface Vocabulary {
  /** Names of fields at any depth. */
  readonly fields: ReadonlySet<string>;
  /** Values of enumerated fields. */
  readonly words: ReadonlySet<string>;
}

/** Collects the vocabulary of shapes and of all shapes within them. */
export function collectVocabulary(shapes: Iterable<Shape>): Vocabulary {
  const components: Components = new Map();
  const open: unknown[] = [...shapes].map((shape) => shape.schema(components));
  open.push(...components.values());
  const fields = new Set<string>();
  const words = new Set<string>();
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    if (typeof schema !== "object" || schema === null) continue;
    const { properties = {}, enum: listed = [], const: only, ...rest } = schema as JsonSchema;
    for (const word of [only, ...(listed as readonly unknown[])]) if (typeof word === "string") words.add(word);
    for (const name of Object.keys(properties as object)) fields.add(name);
    open.push(...Object.values(properties as object), ...Object.values(rest));
  }
  return { fields, words };
}
