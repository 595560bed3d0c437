/** Reads `allowed_tools` and `require_approval` of an `mcp` entry: the tools the model may call, and the calls that need approval. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { McpTool } from "./tool-definitions.ts";

type Matches = (tool: McpTool) => boolean;

/** Which tools are allowed. @param value names, or an object with names and `read_only`; absent for all tools */
export function parseAllowedTools(value: unknown): Matches {
  if (Array.isArray(value)) return isNamedIn(value);
  return isObject(value) ? filter(value) : () => true;
}

/**
 * Which tools need approval. Every call does unless the entry says never: a server may do harm in the name of the user.
 * @param value always, never, or an object with a filter for each; a tool in both filters needs approval
 */
export function parseApproval(value: unknown): Matches {
  if (value === "never") return () => false;
  if (!isObject(value)) return () => true;
  const { always, never } = value;
  const [isAlways, isNever] = [always, never].map((each): Matches => (isSet(each) ? filter(each) : () => false));
  return (tool) => isAlways?.(tool) === true || isNever?.(tool) !== true;
}

/** Whether the filter is an object; an empty one matches no tool. */
const isSet = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && (Array.isArray(value["tool_names"]) || typeof value["read_only"] === "boolean");

function filter({ tool_names: names, read_only: readOnly }: Readonly<Record<string, unknown>>): Matches {
  const isNamed = Array.isArray(names) ? isNamedIn(names) : () => true;
  return (tool) => isNamed(tool) && (typeof readOnly !== "boolean" || isReadOnly(tool) === readOnly);
}

function isNamedIn(names: readonly unknown[]): Matches {
  const known = new Set(names);
  return ({ name }) => known.has(name);
}

/** Whether the server claims that the tool changes nothing. Nothing enforces this claim. */
const isReadOnly = ({ annotations }: McpTool): boolean => annotations?.["readOnlyHint"] === true;
