/** Parses the tool choice; each tool it names must be declared. */
import { toolChoice } from "@sluice/proto/contract/tools/tool-choice.js";
import { tool } from "@sluice/proto/contract/tools/tools.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import { checkShape } from "@sluice/proto/lib/validation/shape.js";
import type { DeclaredTools } from "./declared-tools.ts";
import { type Aliases, neutralize, neutralizeAll } from "./kinds.ts";
import type { ToolChoice, ToolReference } from "../request.ts";

export function parseToolChoice(
  value: unknown,
  declared: DeclaredTools,
  aliases: Aliases,
  problems: Problems,
): ToolChoice | undefined {
  if (value === undefined || value === null) return undefined;
  neutralize(value, tool.kinds, aliases);
  if (isObject(value)) neutralizeAll(value["tools"], tool.kinds, aliases);
  const before = problems.count;
  checkShape(toolChoice, value, "tool_choice", problems);
  if (problems.count > before) return undefined;
  if (declared.deferring && value !== "auto" && (value as JsonObject)["type"] !== "allowed_tools") {
    problems.add("tool_choice", "must be auto or allowed_tools while tools are deferred");
  }
  if (isObject(value)) return objectChoice(value, declared, problems);
  if (value === "required" && declared.empty) problems.add("tool_choice", "required needs at least one tool");
  return value as ToolChoice;
}

function objectChoice(value: JsonObject, declared: DeclaredTools, problems: Problems): ToolChoice {
  if (value["type"] !== "allowed_tools") {
    return { type: "tool", tool: resolved(value as ToolReference, "tool_choice", declared, problems) };
  }
  const tools = (value["tools"] as readonly ToolReference[]).map((reference, index) =>
    resolved(reference, `tool_choice.tools.${index}`, declared, problems),
  );
  return { type: "allowed_tools", mode: value["mode"] as "auto" | "required", tools };
}

function resolved(reference: ToolReference, path: string, declared: DeclaredTools, problems: Problems): ToolReference {
  const { type, name, server_label: label } = reference;
  const missing = "is not among the tools";
  if (type === "mcp") {
    if (!declared.hasServer(label as string)) problems.add(`${path}.server_label`, missing);
    return reference;
  }
  if (name !== undefined && ["function", "custom", "namespace"].includes(type)) {
    if (!declared.has(type, name)) problems.add(`${path}.name`, missing);
    return reference;
  }
  const kind = declared.hosted(type);
  if (kind === undefined) problems.add(`${path}.type`, `${type} ${missing}`);
  return kind === undefined ? reference : { ...reference, type: kind };
}
