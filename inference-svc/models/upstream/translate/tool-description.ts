/** Describes tools for formats that know only functions. */
import type { CustomTool } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import type { SentTool } from "./names/tool-names.ts";

/** Rare fields of tools, each with the reason for leaving it out. */
const unread: readonly (readonly [field: string, reason: string])[] = [
  ["defer_loading", "sent with the other tools"],
  ["allowed_callers", "the format has no field for it"],
  ["output_schema", "the format has no field for it"],
];

/** Abilities of a format for tools beyond a function declaration. */
export interface ToolAbilities {
  readonly takesMarks?: boolean;
  /** Whether tools that have a form of Anthropic's are sent in it. */
  readonly takesAnthropic?: boolean;
}

/** Reports fields of a tool a function declaration lacks. */
export function dropToolFields(
  { tool, path, renaming }: SentTool,
  onDropped: OnDropped,
  { takesMarks = false, takesAnthropic = false }: ToolAbilities = {},
): void {
  if (renaming !== undefined) onDropped(`${path}.name`, renaming);
  if (tool.async === true) onDropped(`${path}.async`, "the format has no asynchronous calls");
  if (!takesMarks && tool.cacheControl) onDropped(`${path}.cache_control`, "the format has no cache marks on tools");
  if (!takesAnthropic && tool.type === "function" && tool.anthropicJson !== undefined)
    onDropped(`${path}.anthropic_tool`, "sent as a function: the endpoint is not known to take it");
  for (const [field, reason] of unread) {
    // Searching the JSON text avoids parsing nearly every tool.
    if (!tool.json.includes(`"${field}"`)) continue;
    const value = (JSON.parse(tool.json) as JsonObject)[field];
    if (value !== undefined && value !== null && value !== false) onDropped(`${path}.${field}`, reason);
  }
}

/** The description for a tool; that of its namespace is repeated in each of its tools. */
export function describeTool({ tool, namespace }: SentTool): string | undefined {
  const common = namespace && `Part of ${namespace.name}: ${namespace.description}`;
  return common && tool.description !== undefined ? `${common}\n${tool.description}` : (common ?? tool.description);
}

/** The format of a custom tool's input. @returns undefined when the tool takes any text */
export function parseToolFormat(tool: CustomTool): JsonObject | undefined {
  const format: unknown = tool.formatJson === undefined ? undefined : JSON.parse(tool.formatJson);
  return isObject(format) ? format : undefined;
}

/** The schema of a function whose only parameter is the text for a custom tool. */
export function buildWrapperSchema(tool: CustomTool, path: string, onDropped: OnDropped): JsonObject {
  const format = parseToolFormat(tool);
  const bound = format?.type === "grammar";
  if (bound) onDropped(`${path}.format`, "the grammar is described to the model, but not enforced");
  const grammar = `The text must match this ${text(format?.syntax)} grammar:\n${text(format?.definition)}`;
  const input = { type: "string", ...(bound && { description: grammar }) };
  return { type: "object", properties: { input }, required: ["input"], additionalProperties: false };
}
