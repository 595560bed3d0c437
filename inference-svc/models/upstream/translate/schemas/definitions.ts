/** Gathers whatever a schema refers to in `$defs` of its root, for vendors that follow no other references. */
import { type JsonObject, isObject } from "../../json.ts";
import { findReferred } from "./cycles.ts";
import { mapSchemas } from "./walk.ts";

const ofRoot = /^#\/\$defs\/[^/]+$/;

/** @param changes gets the changes made */
export function gatherDefinitions(root: JsonObject, changes: Set<string>): JsonObject {
  if (hasOwnReferences(root)) return root;
  const gathered: Record<string, JsonObject> = {};
  const names = new Map<string, string>();
  const waiting: [name: string, schema: JsonObject][] = [];
  const nameOf = (reference: string): string | undefined => {
    const known = names.get(reference);
    const schema = known === undefined ? findReferred(root, reference) : undefined;
    if (schema === undefined) return known;
    const name = freeName(reference.split("/").at(-1) ?? "", new Set(names.values()));
    names.set(reference, name);
    waiting.push([name, schema]);
    return name;
  };
  const rewrite = (schema: JsonObject): JsonObject => {
    const { $defs: _, definitions: __, ...body } = schema;
    return mapSchemas(body, (node) => {
      const { $ref: reference, ...rest } = node;
      if (typeof reference !== "string") return node;
      const name = nameOf(reference);
      return name === undefined ? rest : { $ref: `#/$defs/${name}`, ...rest };
    });
  };
  const body = rewrite(root);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) gathered[next[0]] = rewrite(next[1]);
  changes.add("references lead to $defs of the root, or are left out");
  return names.size === 0 ? body : { ...body, $defs: gathered };
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

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  const base = wanted.replaceAll(/[^a-zA-Z0-9_.-]/g, "_") || "_";
  let free = base;
  for (let count = 2; taken.has(free); count++) free = `${base}_${count}`;
  return free;
}

/** Moves the type beside `anyOf` into the branches without one. */
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
