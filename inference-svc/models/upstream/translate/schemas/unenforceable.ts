/** Finds the reason why a vendor would answer 400 to a schema, whatever keywords were left out. */
import { type JsonObject, isObject } from "../../json.ts";
import type { SchemaLimits, SchemaRules } from "./rules.ts";
import { mapSchemas, subschemasOf } from "./walk.ts";

export function findUnenforceable(schema: JsonObject, rules: SchemaRules): string | undefined {
  let reason: string | undefined;
  if (!rules.closed) return reason;
  mapSchemas(schema, (node) => {
    reason ??= reasonOf(node, node === schema, rules);
    return node;
  });
  return reason ?? (rules.limits && findExcess(schema, rules.limits));
}

function reasonOf(node: JsonObject, isRoot: boolean, { allRequired, typed }: SchemaRules): string | undefined {
  if (typed && !typing.some((keyword) => Object.hasOwn(node, keyword))) return "it has values of any type";
  if (!isTyped(node, "object")) return undefined;
  const names = Object.keys(isObject(node.properties) ? node.properties : {});
  const required: readonly unknown[] = Array.isArray(node.required) ? node.required : [];
  if (allRequired && names.some((name) => !required.includes(name))) return "it has optional properties";
  const { additionalProperties: others } = node;
  const isOpen = names.length === 0 && others !== false && (others !== undefined || !isRoot);
  return isOpen || isObject(others) ? "it has objects with any properties" : undefined;
}

/** Keywords that state which values a schema allows. */
const typing = ["type", "anyOf", "oneOf", "allOf", "$ref", "enum", "const"];

function findExcess(schema: JsonObject, { depth, properties, enumValues }: SchemaLimits): string | undefined {
  let [named, values] = [0, 0];
  mapSchemas(schema, (node) => {
    named += Object.keys(isObject(node.properties) ? node.properties : {}).length;
    values += Array.isArray(node.enum) ? node.enum.length : 0;
    return node;
  });
  if (named > properties) return `it has more than ${properties} properties`;
  if (values > enumValues) return `its enums have more than ${enumValues} values`;
  return isDeeper(schema, depth) ? `it has more than ${depth} levels of objects` : undefined;
}

function isDeeper(node: JsonObject, left: number): boolean {
  const below = isTyped(node, "object") ? left - 1 : left;
  return below < 0 || subschemasOf(node).some((child) => isDeeper(child, below));
}

export const isTyped = ({ type }: JsonObject, wanted: string): boolean =>
  type === wanted || (Array.isArray(type) && type.includes(wanted));
