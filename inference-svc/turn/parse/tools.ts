/** Parses the tools offered to a model. */
import { tool, toolsShape } from "@sluice/proto/contract/tools/tools.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { type ByteSpan, elementsOf, memberOf } from "@sluice/proto/lib/json/span.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { checkShape } from "@sluice/proto/lib/validation/shape.js";
import { ByteMemory } from "@sluice/proto/lib/json/byte-memory.js";
import type { DeclaredTools } from "./declared-tools.ts";
import type { IgnoredFields } from "./ignored-fields.ts";
import { type Aliases, neutralize, neutralizeAll } from "./kinds.ts";
import { type AllFields, isSet, memberJson } from "./settings.ts";
import type { CustomTool, FunctionTool, Tool } from "../request.ts";

/** Tools without problems, with the JSON value from which they were parsed. */
interface KnownTools {
  readonly value: readonly JsonObject[];
  readonly tools: readonly Tool[];
  /** Paths of unknown fields. */
  readonly ignored: readonly string[];
}

/** Known tools, by the prefixes that mean `service:`: the known types depend on them, and a reload of the configuration may change them. */
const memories = new WeakMap<Aliases, ByteMemory<KnownTools>>();

const none: readonly Tool[] = [];

/**
 * Parses the tools. Equal bytes give the same list, by which dialects can cache its translation.
 * @param json undefined when the request has none
 * @param ignored gets the paths of unknown fields
 */
export function parseTools(
  json: Buffer | undefined,
  declared: DeclaredTools,
  aliases: Aliases,
  problems: Problems,
  ignored?: IgnoredFields,
): readonly Tool[] {
  if (!json) return none;
  let memory = memories.get(aliases);
  if (!memory) memories.set(aliases, (memory = new ByteMemory()));
  let known = memory.find(json);
  if (known) declared.add(known.value, "tools", problems);
  else {
    known = readTools(json, declared, aliases, problems);
    if (known) memory.keep(json, known);
  }
  if (known) ignored?.addTools(known.ignored, known.tools);
  return known?.tools ?? none;
}

/** Parses the tools. @returns undefined when they have problems */
function readTools(
  json: Buffer,
  declared: DeclaredTools,
  aliases: Aliases,
  problems: Problems,
): KnownTools | undefined {
  const value: unknown = JSON.parse(json.toString("utf8"));
  const spellings = Array.isArray(value) ? value.map(spellingOf) : [];
  neutralizeTools(value, aliases);
  const before = problems.count;
  checkShape(toolsShape, value, "tools", problems);
  declared.add(value, "tools", problems);
  if (problems.count > before) return undefined;
  const spans = elementsOf(json);
  const values = value as readonly JsonObject[];
  const tools = values.map((entry, index) =>
    toolOf(entry, { json, span: spans[index] as ByteSpan }, spellings[index] as string),
  );
  return { value: values, tools, ignored: ignoredIn(value) };
}

/** Finds the unknown fields by checking the tools a second time; done once per list, for tools without problems. */
function ignoredIn(tools: unknown): readonly string[] {
  const paths: string[] = [];
  checkShape(toolsShape, tools, "tools", new Problems((path) => void paths.push(path)));
  return paths;
}

const spellingOf = (entry: unknown): unknown => (isObject(entry) ? entry["type"] : undefined);

/** Converts the types of tools, and of tools inside them, to the neutral spelling. */
export function neutralizeTools(value: unknown, aliases: Aliases): void {
  if (!Array.isArray(value)) return;
  for (const entry of value) {
    neutralize(entry, tool.kinds, aliases);
    const parameters: unknown = isObject(entry) ? entry["parameters"] : undefined;
    if (isObject(parameters)) neutralizeAll(parameters["tools"], tool.kinds, aliases);
  }
}

/** The same tool, parsed from JSON in which texts were redacted. */
export function parseRedactedTool(tool: Tool, json: string): Tool {
  if (tool.type === "hosted") return { ...tool, json };
  const written = Buffer.from(json);
  return toolOf(JSON.parse(json) as JsonObject, { json: written, span: { start: 0, end: written.length } }, "");
}

/** Where a tool stands in the client's JSON text. */
interface Written {
  readonly json: Buffer;
  readonly span: ByteSpan;
}

const textOf = ({ json, span }: Written): string => json.toString("utf8", span.start, span.end);

/** Builds a tool from a value whose shape was checked. */
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
          callable(entry, { json: written.json, span: innerSpans(written)[index] as ByteSpan }),
        ),
        json: textOf(written),
      };
    default:
      return { type: "hosted", kind: value["type"] as string, spelling, json: textOf(written) };
  }
}

function innerSpans({ json, span }: Written): readonly ByteSpan[] {
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
  readonly cache_control?: JsonObject | null;
  readonly anthropic_tool?: JsonObject | null;
}

function callable(value: JsonObject, written: Written): FunctionTool | CustomTool {
  const fields = value as unknown as CallableFields;
  const { name, description, format, strict, async, defer_loading: deferLoading, cache_control: mark } = fields;
  const { json, span } = written;
  if (value["type"] === "custom") {
    const custom: AllFields<CustomTool> = {
      type: "custom",
      name,
      description: description ?? undefined,
      formatJson: isSet(format) ? memberJson(json, span.start, "format") : undefined,
      async: async ?? undefined,
      cacheControl: mark ?? undefined,
      json: textOf(written),
    };
    return custom as CustomTool;
  }
  const tool: AllFields<FunctionTool> = {
    type: "function",
    name,
    description: description ?? undefined,
    parametersJson: memberJson(json, span.start, "parameters") ?? "null",
    strict: strict ?? undefined,
    async: async ?? undefined,
    deferLoading: deferLoading ?? undefined,
    cacheControl: mark ?? undefined,
    anthropicJson: isSet(fields.anthropic_tool) ? memberJson(json, span.start, "anthropic_tool") : undefined,
    json: textOf(written),
  };
  return tool as FunctionTool;
}
