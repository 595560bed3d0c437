/** Finds and cuts references by which a schema contains itself. */
import { type JsonObject, isObject } from "../../json.ts";
import { mapSchemas, subschemasOf } from "./walk.ts";

/** Maximum nesting of a schema followed; no vendor takes a deeper one. */
const maxDepth = 500;

/** @returns the schemas whose reference leads to a schema around them; without these references, the root is finite */
export function findCycles(root: JsonObject): ReadonlySet<JsonObject> {
  const closing = new Set<JsonObject>();
  if (!JSON.stringify(root).includes('"$ref"')) return closing;
  const open = new Set<JsonObject>();
  const done = new Set<JsonObject>();
  const visit = (node: JsonObject, depth: number): void => {
    if (done.has(node) || depth > maxDepth) return;
    open.add(node);
    const target = typeof node.$ref === "string" ? findReferred(root, node.$ref) : undefined;
    if (target !== undefined && open.has(target)) closing.add(node);
    else if (target !== undefined) visit(target, depth + 1);
    for (const child of subschemasOf(node)) visit(child, depth + 1);
    open.delete(node);
    done.add(node);
  };
  visit(root, 0);
  return closing;
}

/** @param closing schemas found by `findCycles`; each is replaced by a plain schema with the type of its reference's target */
export function cutCycles(root: JsonObject, closing: ReadonlySet<JsonObject>): JsonObject {
  return mapSchemas(root, (node) => {
    if (!closing.has(node)) return node;
    const { $ref: reference, ...rest } = node;
    const { type = "object" } = findReferred(root, String(reference)) ?? {};
    const isOpen = type === "object" ? { additionalProperties: true } : {};
    return { type, ...isOpen, ...rest };
  });
}

/** Matches a step of a reference that is an index of a list. */
const place = /^(0|[1-9]\d*)$/;

/** @param reference a reference to a place in the root, such as `#/$defs/Node` @returns undefined for any other reference */
export function findReferred(root: JsonObject, reference: string): JsonObject | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const step of reference.split("/").slice(1)) {
    const name = decoded(step);
    if (Array.isArray(found)) found = place.test(name) ? found[Number(name)] : undefined;
    else found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isObject(found) ? found : undefined;
}

const decoded = (step: string): string =>
  step.replaceAll("~1", "/").replaceAll("~0", "~").replaceAll("%24", "$").replaceAll("%25", "%");
