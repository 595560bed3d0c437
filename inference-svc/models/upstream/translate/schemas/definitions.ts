/** Gathers everything to which a schema refers in `$defs` of its root, for vendors that follow no other references. */
import { type JsonObject, isObject } from "../../json.ts";
import { findReferred } from "./cycles.ts";
import { FreeNames } from "./free-names.ts";
import { mapSchemas } from "./walk.ts";

const ofRoot = /^#\/\$defs\/[^/]+$/;

/**
 * Maximum size of the result as a multiple of the given schema. Definitions that contain each other are written once
 * for each of them; beyond the maximum, the schema stays unchanged, and the vendor decides.
 */
const maxGrowth = 4;

/** @param changes gets the changes that were made */
export function gatherDefinitions(root: JsonObject, changes: Set<string>): JsonObject {
  if (hasOwnReferences(root)) return root;
  const definitions = new Definitions(root);
  const body = definitions.rewrite(root);
  const gathered = definitions.finish();
  if (gathered === undefined) return root;
  changes.add("references lead to $defs of the root, or are left out");
  return gathered.size === 0 ? body : { ...body, $defs: Object.fromEntries(gathered) };
}

/** The schemas to which references of a root lead. */
class Definitions {
  readonly #root: JsonObject;
  /** Names of the definitions, by the schema to which a reference leads: references to one schema may be spelled in many ways. */
  readonly #names = new Map<JsonObject, string>();
  readonly #free = new FreeNames();
  readonly #waiting: [name: string, schema: JsonObject][] = [];
  /** Number of characters that further definitions may have. */
  #left: number;

  constructor(root: JsonObject) {
    this.#root = root;
    this.#left = maxGrowth * JSON.stringify(root).length;
  }

  /** Replaces the references of a schema, and notes the definitions they need. */
  rewrite(schema: JsonObject): JsonObject {
    const { $defs: _, definitions: __, ...body } = schema;
    return mapSchemas(body, (node) => {
      const { $ref: reference, ...rest } = node;
      if (typeof reference !== "string") return node;
      const name = this.#nameOf(reference);
      return name === undefined ? rest : { $ref: `#/$defs/${name}`, ...rest };
    });
  }

  /** @returns all definitions by name, with the definitions they need in turn; undefined if they are too long */
  finish(): ReadonlyMap<string, JsonObject> | undefined {
    const gathered = new Map<string, JsonObject>();
    for (let next = this.#waiting.pop(); next !== undefined && this.#left >= 0; next = this.#waiting.pop())
      gathered.set(next[0], this.rewrite(next[1]));
    return this.#left < 0 ? undefined : gathered;
  }

  /** @returns the name of the definition; undefined for a reference without a target */
  #nameOf(reference: string): string | undefined {
    const schema = this.#left < 0 ? undefined : findReferred(this.#root, reference);
    if (schema === undefined) return undefined;
    const known = this.#names.get(schema);
    if (known !== undefined) return known;
    this.#left -= JSON.stringify(schema).length;
    const name = this.#free.take(reference.slice(reference.lastIndexOf("/") + 1));
    this.#names.set(schema, name);
    this.#waiting.push([name, schema]);
    return name;
  }
}

function hasOwnReferences(root: JsonObject): boolean {
  let isOwn = root.definitions === undefined;
  mapSchemas(root, (node) => {
    const { $ref: reference } = node;
    if (typeof reference === "string") isOwn &&= ofRoot.test(reference) && findReferred(root, reference) !== undefined;
    return node;
  });
  return isOwn;
}

/** Moves the type next to `anyOf` into the branches that have none. */
export function moveTypeIntoBranches(node: JsonObject, changes: Set<string>): JsonObject {
  const { type, ...rest } = node;
  if (type === undefined || !Array.isArray(node.anyOf)) return node;
  changes.add("the type beside anyOf stands in its branches");
  const isOpen = (branch: JsonObject) => !["type", "$ref", "anyOf"].some((keyword) => Object.hasOwn(branch, keyword));
  return {
    ...rest,
    anyOf: (node.anyOf as readonly unknown[]).map((branch) =>
      isObject(branch) && isOpen(branch) ? { type, ...branch } : branch,
    ),
  };
}
