/** Converts keywords of older drafts of JSON Schema, and common errors of generators, to draft 2020-12. */
import type { JsonObject } from "../../json.ts";
import { isNumber } from "./exact.ts";

const types: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);
/** Keywords whose value may be anything, and is no schema. */
const anyValue: ReadonlySet<string> = new Set(["default", "const", "example", "examples", "enum"]);

/** @param changes gets the changes that were made */
export function toDraft2020(node: JsonObject, changes: Set<string>): JsonObject {
  const entries = Object.entries(node).flatMap(([keyword, value]) => rewritten(keyword, value, node));
  const isSame =
    entries.length === Object.keys(node).length &&
    entries.every(([keyword, value]) => Object.hasOwn(node, keyword) && node[keyword] === value);
  if (isSame) return node;
  changes.add("keywords of other drafts are written as in draft 2020-12");
  return Object.fromEntries(entries);
}

function rewritten(keyword: string, value: unknown, node: JsonObject): [string, unknown][] {
  if (value === null && !anyValue.has(keyword)) return [];
  switch (keyword) {
    case "type":
      return isType(value) ? [[keyword, value]] : [];
    case "exclusiveMinimum":
    case "exclusiveMaximum": {
      // Draft 4 has a flag here, and another keyword for the number.
      const bound = node[keyword === "exclusiveMinimum" ? "minimum" : "maximum"];
      if (isNumber(value)) return [[keyword, value]];
      return value === true && isNumber(bound) ? [[keyword, bound]] : [];
    }
    case "minimum":
    case "maximum": {
      const flag = node[keyword === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"];
      return isNumber(value) && flag !== true ? [[keyword, value]] : [];
    }
    case "required": {
      // Draft 3 has a flag here.
      if (!Array.isArray(value)) return [];
      const names = value.filter((name) => typeof name === "string");
      const unique = new Set(names).size === value.length;
      return [[keyword, unique ? value : [...new Set(names)]]];
    }
    case "items":
      return Array.isArray(value) ? [["prefixItems", value]] : [[keyword, value]];
    case "additionalItems":
      return Array.isArray(node.items) ? [["items", value]] : [[keyword, value]];
    case "enum":
      return Array.isArray(value) ? [[keyword, value]] : [];
    default:
      return [[keyword, value]];
  }
}

const isType = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every((each) => types.has(each)) && new Set(value).size === value.length
    : types.has(value);
