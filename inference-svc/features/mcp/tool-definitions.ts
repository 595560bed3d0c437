/** Reads the tool list of an MCP server, within limits: lists come from untrusted servers, and every word costs tokens. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { McpFailure } from "./failure.ts";

/** Maximum characters of one tool's JSON. */
const maxDefinition = 32 * 1024;
/** Maximum nesting depth of one tool's JSON. */
const maxDepth = 64;
const maxNameLength = 128;

export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly annotations?: JsonObject;
}

/**
 * @param list entries from the server, or from an item of the history
 * @param isWanted whether the request allows the tool
 * @throws McpFailure when the list exceeds a limit
 */
export function readTools(list: readonly unknown[], isWanted: (tool: McpTool) => boolean): readonly McpTool[] {
  const tools = new Map<string, McpTool>();
  for (const entry of list) {
    const tool = toTool(entry);
    // A second tool with the same name cannot be called.
    if (tool === undefined || tools.has(tool.name) || !isWanted(tool)) continue;
    const problem = problemOf(tool);
    if (problem !== undefined) throw new McpFailure(`a tool is described ${problem}; leave it out of allowed_tools`);
    tools.set(tool.name, tool);
  }
  return [...tools.values()];
}

function problemOf(tool: McpTool): string | undefined {
  if (isDeeper(tool, maxDepth)) return `more than ${maxDepth} levels deep`;
  return JSON.stringify(tool).length > maxDefinition ? `in more than ${maxDefinition} characters` : undefined;
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/** Parses a tool. @returns undefined for an entry that no model could call */
function toTool(entry: unknown): McpTool | undefined {
  if (!isObject(entry)) return undefined;
  const { name, description, annotations } = entry;
  const inputSchema = entry["inputSchema"] ?? entry["input_schema"];
  if (typeof name !== "string" || name === "" || name.length > maxNameLength || !isObject(inputSchema))
    return undefined;
  return {
    name,
    ...(typeof description === "string" && description !== "" && { description }),
    inputSchema,
    ...(isObject(annotations) && { annotations }),
  };
}

/** The tool in the form of an `mcp_list_tools` item. */
export const toListed = ({ name, description, inputSchema, annotations }: McpTool): JsonObject => ({
  name,
  description: description ?? null,
  input_schema: inputSchema,
  annotations: annotations ?? null,
});
