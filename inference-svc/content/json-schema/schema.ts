/**
 * Checks a value against a JSON Schema: the common part of the drafts since 4, interpreted as in the latest. Patterns
 * that cannot run in linear time are ignored, and so are formats. Nothing is fetched, and no client text becomes code.
 */
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Yielding } from "../../turn/time-slice.ts";
import { fitsKeywords } from "./keywords.ts";
import { compileFinder, containsMatch } from "./patterns.ts";
import { resolveReference } from "./references.ts";

/** The schema cannot be checked: it refers to another document, or takes too many steps. */
export class UncheckableSchema extends Error {
  override readonly name = "Uncheckable";
}

/** Maximum steps of one check: ten times what the longest answers need. They take a second at worst, interleaved with other work. */
const maxChecks = 100_000;
/** Maximum nesting of schemas and values. */
const maxDepth = 256;

export class SchemaChecker {
  readonly #root: unknown;
  readonly #finders = new Map<string, Finder | undefined>();
  #checks = 0;
  #depth = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  /** Whether a value fits a schema. @throws UncheckableSchema */
  *fits(schema: unknown, value: unknown): Yielding<boolean> {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema)) throw new UncheckableSchema();
    if (++this.#checks > maxChecks || this.#depth === maxDepth) throw new UncheckableSchema();
    if (this.#checks % 64 === 0) yield;
    this.#depth++;
    const fits = (yield* this.#referred(schema, value)) && (yield* fitsKeywords(schema, value, this));
    this.#depth--;
    return fits;
  }

  *#referred({ $ref: reference }: JsonObject, value: unknown): Yielding<boolean> {
    if (reference === undefined) return true;
    const schema = typeof reference === "string" ? resolveReference(this.#root, reference) : undefined;
    if (schema === undefined) throw new UncheckableSchema();
    return yield* this.fits(schema, value);
  }

  /** Whether the text matches; a pattern without a linear-time form matches everything. */
  *matches(pattern: string, text: string): Yielding<boolean> {
    if (!this.#finders.has(pattern)) this.#finders.set(pattern, compileFinder(pattern));
    const finder = this.#finders.get(pattern);
    return finder === undefined || (yield* containsMatch(finder, text));
  }
}
