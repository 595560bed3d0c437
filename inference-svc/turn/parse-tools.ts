/** The tools that a model may call, and which of them it must. */
import { Fields, type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Span } from "@sluice/proto/runtime/validation/json-scan.js";
import { elementsOf, membersOf } from "@sluice/proto/runtime/validation/json-span.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { toolKinds } from "./parse-kinds.ts";
import type { FunctionTool, ToolChoice } from "./request.ts";

export interface ParsedTools {
  readonly tools: readonly FunctionTool[];
  /** Every name that was given, also of tools that are refused: what refers to one of them is not a second problem. */
  readonly names: ReadonlySet<string>;
}

const nameForm = /^[A-Za-z0-9_-]{1,128}$/;
const choices = new Set(["auto", "none", "required"]);

/** @param json undefined when there are none */
export function parseTools(json: Buffer | undefined, problems: Problems): ParsedTools {
  const names = new Set<string>();
  if (!json) return { tools: [], names };
  const value: unknown = JSON.parse(json.toString("utf8"));
  if (!Array.isArray(value)) {
    problems.add("tools", "must be an array");
    return { tools: [], names };
  }
  const spans = elementsOf(json);
  const tools = value.map((tool: unknown, index) =>
    parseTool(tool, `tools.${index}`, names, problems, {
      json: spans[index] ? json.toString("utf8", spans[index].start, spans[index].end) : "",
      parametersJson: parametersOf(json, spans[index]),
    }),
  );
  return { tools: tools.filter((tool) => tool !== undefined), names };
}

/** The schema as the client wrote it: to parse and write it again would round its numbers. */
function parametersOf(json: Buffer, span: Span | undefined): string {
  const parameters = span && membersOf(json, span.start).find((member) => member.key === "parameters");
  return parameters ? json.toString("utf8", parameters.start, parameters.end) : "null";
}

function parseTool(
  value: unknown,
  path: string,
  names: Set<string>,
  problems: Problems,
  text: { readonly json: string; readonly parametersJson: string },
): FunctionTool | undefined {
  if (!isObject(value)) return problems.add(path, "must be an object");
  const fields = new Fields(value, path, problems);
  const type = fields.requiredString("type");
  if (type === undefined) return undefined;
  if (type !== "function") return refuse(type, fields, path, problems);
  if (isObject(value["function"])) {
    return fields.problem("function", "name, description and parameters belong beside type, not inside function");
  }
  const name = nameOf(fields, names);
  const description = fields.string("description", "nullable");
  const strict = fields.boolean("strict", "nullable");
  fields.object("parameters", "nullable");
  for (const later of ["async", "defer_loading"]) {
    if (fields.boolean(later, "nullable") === true) fields.problem(later, "is not available yet");
  }
  if (name === undefined) return undefined;
  return {
    type,
    name,
    ...text,
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  };
}

function refuse(type: string, fields: Fields, path: string, problems: Problems): undefined {
  if (toolKinds.has(type)) return problems.add(path, `tools of type ${type} are not available yet`);
  return fields.problem("type", `unknown type ${type.slice(0, 64)}`);
}

function nameOf(fields: Fields, names: Set<string>): string | undefined {
  const name = fields.requiredString("name");
  if (name === undefined) return undefined;
  if (!nameForm.test(name)) return fields.problem("name", "1 to 128 letters, digits, _ and -");
  if (names.has(name)) return fields.problem("name", `${name} is the name of a tool before it`);
  names.add(name);
  return name;
}

export function parseToolChoice(
  value: unknown,
  names: ReadonlySet<string>,
  problems: Problems,
): ToolChoice | undefined {
  if (value === undefined || value === null) return undefined;
  if (isObject(value)) return objectChoice(value, names, problems);
  if (typeof value !== "string" || !choices.has(value)) {
    return problems.add("tool_choice", "must be one of auto, none, required, or an object that names a function");
  }
  if (value === "required" && names.size === 0) problems.add("tool_choice", "required needs at least one tool");
  return value as ToolChoice;
}

function objectChoice(value: JsonObject, names: ReadonlySet<string>, problems: Problems): ToolChoice | undefined {
  const fields = new Fields(value, "tool_choice", problems);
  const type = fields.requiredString("type");
  if (type === undefined) return undefined;
  if (type !== "function") {
    const known = type === "allowed_tools" || toolKinds.has(type);
    if (known) return problems.add("tool_choice", `a choice of type ${type} is not available yet`);
    return fields.problem("type", `unknown type ${type.slice(0, 64)}`);
  }
  if (isObject(value["function"])) return fields.problem("function", "name belongs beside type, not inside function");
  const name = fields.requiredString("name");
  if (name === undefined) return undefined;
  if (!names.has(name)) return fields.problem("name", "is not among the tools");
  return { type: "tool", tool: { type, name } };
}
