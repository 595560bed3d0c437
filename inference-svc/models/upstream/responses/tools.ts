/** Writes tools and the tool choice as the client wrote them, with types in the client's spelling. */
import { membersOf, withMembers } from "@sluice/proto/lib/json/span.js";
import type {
  CallableTool,
  FunctionTool,
  HostedTool,
  NamespaceTool,
  Tool,
  ToolReference,
  TurnRequest,
} from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type ObjectWriter, Verbatim } from "../json.ts";
import { compatibleSchemas } from "../translate/schemas/compatible-rules.ts";
import { type VendorSchemas, openaiSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { isToolSearch } from "../translate/offered-tools.ts";
import { WeakCache, cacheByObject } from "../translate/weak-cache.ts";
import { describeRename, openAiForm } from "../translate/names/name-rules.ts";
import { ToolNames } from "./tool-names.ts";
import { isVendor } from "./vendor.ts";

export function addResponsesTools(
  body: ObjectWriter,
  request: TurnRequest,
  target: Target,
  onDropped: OnDropped,
): void {
  const { tools } = request;
  const declared = tools.some(isSent);
  if (!declared && !request.input.some((item) => item.type === "additional_tools")) return;
  if (declared) body.add("tools", written(target, isLoose(request)).of(ToolNames.of(request), onDropped));
  body.add("tool_choice", toolChoice(request));
  body.add("parallel_tool_calls", request.parallelToolCalls);
}

/**
 * Whether a missing `strict` means false, as in the formats of other doors. In the Responses format, a function without
 * it is strict as far as its schema allows, and clients of this format expect so.
 */
const isLoose = ({ door = "responses" }: TurnRequest): boolean => door !== "responses";

/** Writers for the list of tools, by whether functions without `strict` are sent as not strict. */
interface ToolWriters {
  readonly asGiven: WeakCache<ToolNames, Verbatim>;
  readonly loose: WeakCache<ToolNames, Verbatim>;
}

const writersOf = (write: (isLoosened: boolean) => WeakCache<ToolNames, Verbatim>): ToolWriters => ({
  asGiven: write(false),
  loose: write(true),
});

const vendorTools = writersOf(
  (isLoosened) =>
    new WeakCache((names: ToolNames, onDropped) =>
      toolsJson({ names, isLoosened, onRenamed: onDropped, onDropped, schemas: openaiSchemas }),
    ),
);
const plainTools = writersOf(
  (isLoosened) => new WeakCache((names: ToolNames, onRenamed) => toolsJson({ names, isLoosened, onRenamed })),
);
const compatibleTools = cacheByObject((schemas: VendorSchemas) =>
  writersOf(
    (isLoosened) =>
      new WeakCache((names: ToolNames, onRenamed) => toolsJson({ names, isLoosened, onRenamed, schemas })),
  ),
);

function written(target: Target, isLoosened: boolean): WeakCache<ToolNames, Verbatim> {
  const schemas = compatibleSchemas(target);
  const others = schemas ? compatibleTools(schemas) : plainTools;
  const { asGiven, loose } = isVendor(target) ? vendorTools : others;
  return isLoosened ? loose : asGiven;
}

interface Writing {
  readonly names: ToolNames;
  readonly onRenamed: OnDropped;
  /** Whether functions without `strict` are sent as not strict. */
  readonly isLoosened: boolean;
  /** Reports dropped fields; present only for OpenAI. */
  readonly onDropped?: OnDropped;
  /** The vendor's rules for schemas; absent if schemas are sent unchanged. */
  readonly schemas?: VendorSchemas;
}

function toolsJson(writing: Writing): Verbatim {
  const json = writing.names.tools.flatMap((tool, index) =>
    isSent(tool) ? [toolJson(tool, `tools.${index}`, writing)] : [],
  );
  return new Verbatim(`[${json.join(",")}]`);
}

const isSent = (tool: Tool): boolean => tool.type !== "hosted" || !tool.leftOut;

/** @param namespace namespace of the tool */
function toolJson(tool: Tool, path: string, writing: Writing, namespace?: string): string {
  const json = unnamedJson(tool, path, writing);
  if (tool.type === "hosted") return json;
  const name = writing.names.sent(tool.name, namespace);
  if (name === tool.name) return json;
  writing.onRenamed(`${path}.name`, describeRename(name, openAiForm.names));
  return withMembers(json, { name: JSON.stringify(name) });
}

/**
 * The tool, without deferral unless a search is sent with it: OpenAI answers 400 to deferred tools without one. Tools
 * the client's search has found are sent like any other.
 */
function loaded(tool: FunctionTool, { names }: Writing): FunctionTool {
  if (tool.deferLoading !== true || names.tools.some((each) => isSent(each) && isSearch(each))) return tool;
  const { deferLoading: _, ...rest } = tool;
  return { ...rest, json: withMembers(tool.json, { defer_loading: undefined }) };
}

const isSearch = (tool: Tool): boolean => tool.type === "hosted" && isToolSearch(tool);

/** JSON of a tool that keeps the client's name. */
function unnamedJson(tool: Tool, path: string, writing: Writing): string {
  const { onDropped } = writing;
  switch (tool.type) {
    case "function":
      return functionJson(loaded(tool, writing), path, writing);
    case "custom":
      return onDropped ? withoutForeign(tool, path, onDropped) : tool.json;
    case "namespace":
      return namespaceJson(tool, path, writing);
    case "hosted":
      return hostedJson(tool, path, onDropped);
  }
}

function functionJson(tool: FunctionTool, path: string, writing: Writing): string {
  const { isLoosened, onDropped, onRenamed, schemas } = writing;
  const absent = isLoosened ? false : undefined;
  const sent = schemas && tool.parametersJson !== "null" ? sendTool(tool, path, schemas, onRenamed) : undefined;
  const json = onDropped ? withoutForeign(tool, path, onDropped) : tool.json;
  if (!sent) return withStrict(json, tool, tool.strict ?? absent);
  const { schema, strict } = sent;
  const fitted = schema.json === tool.parametersJson ? json : withMembers(json, { parameters: schema.json });
  return withStrict(fitted, tool, tool.strict === undefined ? absent : strict);
}

/** @param strict undefined if the field is left out */
function withStrict(json: string, tool: FunctionTool, strict: boolean | undefined): string {
  if (strict === tool.strict) return json;
  // Nearly no tool has "strict", so a search in the text mostly avoids parsing it.
  if (!json.includes('"strict"')) return `${json.slice(0, json.lastIndexOf("}"))},"strict":${strict}}`;
  return withMembers(json, { strict: String(strict) });
}

/** Fields of functions in Sluice's API that OpenAI's format lacks. */
const foreign = ["async", "cache_control", "anthropic_tool"];

function withoutForeign(tool: CallableTool, path: string, onDropped: OnDropped): string {
  const isTyped = tool.type === "function" && tool.anthropicJson !== undefined;
  const isForeign = tool.async !== undefined || tool.cacheControl !== undefined || isTyped;
  return isForeign ? without(tool.json, foreign, path, onDropped) : tool.json;
}

function namespaceJson(namespace: NamespaceTool, path: string, writing: Writing): string {
  const inner = namespace.tools.map((tool, index) => toolJson(tool, `${path}.tools.${index}`, writing, namespace.name));
  return withMembers(namespace.json, { tools: `[${inner.join(",")}]` });
}

/** Settings of web search in Sluice's API that OpenAI's format lacks: it takes allowed domains, a size and a location. */
const contractOnlySettings = [
  "engine",
  "max_results",
  "max_total_results",
  "max_characters",
  "max_uses",
  "mode",
  "x_search",
];

function hostedJson({ kind, json }: HostedTool, path: string, onDropped: OnDropped | undefined): string {
  const sent = json.includes('"anthropic_type"') ? without(json, ["anthropic_type"], path, () => undefined) : json;
  return onDropped && kind.startsWith("web_search") ? without(sent, contractOnlySettings, path, onDropped) : sent;
}

function without(json: string, names: readonly string[], path: string, onDropped: OnDropped): string {
  const present = membersOf(Buffer.from(json)).filter(({ key }) => names.includes(key));
  for (const { key } of present) onDropped(`${path}.${key}`, "the provider does not know it");
  return present.length === 0
    ? json
    : withMembers(json, Object.fromEntries(present.map(({ key }) => [key, undefined])));
}

function toolChoice(request: TurnRequest): unknown {
  const { toolChoice: choice, tools: declared } = request;
  if (typeof choice !== "object") return choice;
  const names = ToolNames.of(request);
  // The tool choice names the kind of the tool; the provider knows the tool by its type in the request.
  const reference = (to: ToolReference): ToolReference => {
    const hosted = declared.find((tool) => tool.type === "hosted" && tool.kind === to.type);
    return hosted?.type === "hosted" ? { ...to, type: hosted.spelling } : names.sentReference(to);
  };
  if (choice.type === "tool") return reference(choice.tool);
  return { type: choice.type, mode: choice.mode, tools: choice.tools.map(reference) };
}
