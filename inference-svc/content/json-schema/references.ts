/** Resolves `$ref` references within a JSON Schema. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";

/** @returns undefined for references to other documents, and for references without a target */
export function resolveReference(root: unknown, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  const pointer = decoded(reference.slice(1));
  if (pointer === undefined) return undefined;
  if (pointer !== "" && !pointer.startsWith("/")) return anchored(root, pointer);
  return pointer
    .split("/")
    .slice(1)
    .reduce<unknown>((value, token) => memberOf(value, token.replaceAll("~1", "/").replaceAll("~0", "~")), root);
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

const memberOf = (value: unknown, key: string): unknown =>
  (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;

/** Finds a schema by its anchor among the definitions. */
function anchored(root: unknown, name: string): unknown {
  if (!isObject(root)) return undefined;
  const definitions = [root["$defs"], root["definitions"]].flatMap((all) => (isObject(all) ? Object.values(all) : []));
  return definitions.find((schema) => isObject(schema) && (schema["$anchor"] === name || schema["$id"] === `#${name}`));
}
