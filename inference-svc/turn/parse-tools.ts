/** The tools that a model may call. */
import { tool, tools as toolsShape } from "@sluice/proto/contract/tools.js";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import { type Span, elementsOf, memberOf } from "@sluice/proto/runtime/validation/json-span.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { DeclaredTools } from "./declared-tools.ts";
import { type Aliases, neutralize, neutralizeAll } from "./parse-kinds.ts";
import { isSet, memberJson } from "./parse-settings.ts";
import type { CustomTool, FunctionTool, Tool } from "./request.ts";

/** @param json undefined when there are none */
export function parseTools(
  json: Buffer | undefined,
  declared: DeclaredTools,
  aliases: Aliases,
  problems: Problems,
): readonly Tool[] {
  if (!json) return [];
  const value: unknown = JSON.parse(json.toString("utf8"));
  const spellings = Array.isArray(value) ? value.map(spellingOf) : [];
  neutralizeTools(value, aliases);
  const before = problems.count;
  toolsShape.check(value, "tools", problems);
  declared.add(value, "tools", problems);
  if (problems.count > before) return [];
  const spans = elementsOf(json);
  return (value as readonly JsonObject[]).map((entry, index) =>
    toolOf(entry, { json, span: spans[index] as Span }, spellings[index] as string),
  );
}

const spellingOf = (entry: unknown): unknown => (isObject(entry) ? entry["type"] : undefined);

/** Tools and the tools of tools. */
export function neutralizeTools(value: unknown, aliases: Aliases): void {
  if (!Array.isArray(value)) return;
  for (const entry of value) {
    neutralize(entry, tool.kinds, aliases);
    const parameters: unknown = isObject(entry) ? entry["parameters"] : undefined;
    if (isObject(parameters)) neutralizeAll(parameters["tools"], tool.kinds, aliases);
  }
}

/** The tool as this text describes it, which is that of the tool with other texts in it. */
export function rewritten(tool: Tool, json: string): Tool {
  if (tool.type === "hosted") return { ...tool, json };
  const written = Buffer.from(json);
  return toolOf(JSON.parse(json) as JsonObject, { json: written, span: { start: 0, end: written.length } }, "");
}

/** Where a tool is in the text that the client wrote. */
interface Written {
  readonly json: Buffer;
  readonly span: Span;
}

const textOf = ({ json, span }: Written): string => json.toString("utf8", span.start, span.end);

/** Of a tool that its shape has let through. */
function toolOf(value: JsonObject, written: Written, spelling: string): Tool {
  switch (value["type"]) {
    case "function":
    case "custom":
      return callable(value, written);
    case "namespace":
      return {
        type: "namespace",
        name: value["name"] as string,
        description: value["description"] as string,
        tools: (value["tools"] as readonly JsonObject[]).map((entry, index) =>
          callable(entry, { json: written.json, span: innerSpans(written)[index] as Span }),
        ),
        json: textOf(written),
      };
    default:
      return { type: "hosted", kind: value["type"] as string, spelling, json: textOf(written) };
  }
}

function innerSpans({ json, span }: Written): readonly Span[] {
  const inner = memberOf(json, span.start, "tools");
  return inner ? elementsOf(json, inner.start) : [];
}

interface CallableFields {
  readonly name: string;
  readonly description?: string | null;
  readonly format?: unknown;
  readonly strict?: boolean | null;
  readonly async?: boolean | null;
  readonly defer_loading?: boolean | null;
}

function callable(value: JsonObject, written: Written): FunctionTool | CustomTool {
  const { name, description, format, strict, async, defer_loading: deferLoading } = value as unknown as CallableFields;
  const common = {
    name,
    ...(isSet(description) && { description }),
    ...(isSet(async) && { async }),
    json: textOf(written),
  };
  if (value["type"] === "custom") {
    const formatJson = isSet(format) ? memberJson(written.json, written.span.start, "format") : undefined;
    return { type: "custom", ...common, ...(formatJson !== undefined && { formatJson }) };
  }
  return {
    type: "function",
    ...common,
    parametersJson: memberJson(written.json, written.span.start, "parameters") ?? "null",
    ...(isSet(strict) && { strict }),
    ...(isSet(deferLoading) && { deferLoading }),
  };
}
