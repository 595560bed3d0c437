/**
 * Header fields with copies of a call's arguments (`x-mcp-header` in a tool's schema, MCP revision 2026-07-28): proxies
 * route by these fields, and servers reject a call without them.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { FieldMap } from "./connection.ts";

const maxDepth = 8;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/;
/** Matches texts a header field may contain without encoding. */
const plain = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/** @param schema schema of the tool's arguments */
export function paramFields(schema: unknown, args: unknown, depth = 0): FieldMap {
  const properties = isObject(schema) ? schema["properties"] : undefined;
  if (!isObject(properties) || !isObject(args) || depth > maxDepth) return {};
  const fields: Record<string, string> = {};
  for (const [key, inner] of Object.entries(properties)) {
    const value = Object.hasOwn(args, key) ? args[key] : undefined;
    const text = nameIn(inner) && toText(value);
    if (text !== undefined) fields[`mcp-param-${nameIn(inner)}`] = toFieldValue(text);
    Object.assign(fields, paramFields(inner, value, depth + 1));
  }
  return fields;
}

function nameIn(schema: unknown): string | undefined {
  const name = isObject(schema) ? schema["x-mcp-header"] : undefined;
  return typeof name === "string" && token.test(name) ? name : undefined;
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "boolean" || Number.isSafeInteger(value) ? String(value) : undefined;
}

/** The text itself, or its base64 form if a header field cannot contain it. */
export const toFieldValue = (text: string): string =>
  plain.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
