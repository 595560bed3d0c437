/** What a model is told of a tool where the format knows functions only. */
import type { CustomTool, FunctionTool } from "../turn/request.ts";
import type { Lose } from "./dialect.ts";
import { type JsonObject, isObject, text } from "./json.ts";
import type { SentTool } from "./tool-names.ts";

/** Fields that hardly a tool has. */
const unread: Readonly<Record<string, string>> = {
  defer_loading: "the tool is there from the beginning",
  allowed_callers: "the format has no words for it",
  output_schema: "the format has no words for it",
};

/** Declares what no function can say. */
export function declareUnread(tool: FunctionTool | CustomTool, path: string, lose: Lose): void {
  if (tool.async === true) lose(`${path}.async`, "calls are answered in their turn");
  for (const [field, reason] of Object.entries(unread)) {
    // The text is searched before it is read.
    if (!tool.json.includes(`"${field}"`)) continue;
    const value = (JSON.parse(tool.json) as JsonObject)[field];
    if (value !== undefined && value !== null && value !== false) lose(`${path}.${field}`, reason);
  }
}

/** What is common to the tools of a namespace is said with each of them. */
export function describe({ tool, namespace }: SentTool): string | undefined {
  const common = namespace && `Part of ${namespace.name}: ${namespace.description}`;
  return common && tool.description !== undefined ? `${common}\n${tool.description}` : (common ?? tool.description);
}

/** @returns undefined when any text will do */
export function formatOf(tool: CustomTool): JsonObject | undefined {
  const format: unknown = tool.formatJson === undefined ? undefined : JSON.parse(tool.formatJson);
  return isObject(format) ? format : undefined;
}

/** The schema of a function that takes the text as its only parameter. */
export function wrapping(tool: CustomTool, path: string, lose: Lose): JsonObject {
  const format = formatOf(tool);
  const bound = format?.type === "grammar";
  if (bound) lose(`${path}.format`, "the model is told of the grammar, but nothing holds it to it");
  const grammar = `The text must match this ${text(format?.syntax)} grammar:\n${text(format?.definition)}`;
  const input = { type: "string", ...(bound && { description: grammar }) };
  return { type: "object", properties: { input }, required: ["input"], additionalProperties: false };
}
