/** The tools a model is offered: those of the request, and those added by input items. */
import { hasUnknownItem } from "../../../turn/parse/beginnings.ts";
import { textOnly } from "../../../turn/parse/text-only.ts";
import type {
  CustomTool,
  FunctionTool,
  HostedTool,
  InputItem,
  Tool,
  ToolChoice,
  ToolReference,
  TurnRequest,
} from "../../../turn/request.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

export interface OfferedTool {
  /** Path in the request, such as `tools.1`, `tools.2.tools.0` or `input.4.tools.0`. */
  readonly path: string;
  readonly tool: FunctionTool | CustomTool | HostedTool;
  /** Namespace of the tool; absent outside of namespaces. */
  readonly namespace?: { readonly name: string; readonly description: string };
  /** Whether the tool choice allows the tool. */
  readonly allowed: boolean;
}

const none: readonly OfferedTool[] = [];

/**
 * Lists built before. The key is the `tools` of the request, or the request itself when input items or the tool choice
 * matter as well.
 */
const known = new WeakMap<object, readonly OfferedTool[]>();

/** Types of items that contain additional tools. */
const bringers: ReadonlySet<string> = new Set(["additional_tools", "tool_search_output"]);

/** Whether the item may add tools. */
export const mayBringTools = ({ type }: InputItem): boolean => bringers.has(type);

/** Whether items add tools. */
export const hasItemTools = (input: TurnRequest["input"]): boolean => hasUnknownItem(input, mayBringTools);

/** The tools added by items. */
export const itemTools = (input: TurnRequest["input"]): readonly JsonObject[] =>
  input.filter(mayBringTools).flatMap((item) => objects(item.tools));

/**
 * Tools in the order of the request; the members of a namespace are listed one by one. Cached, because every endpoint
 * of a model needs the list for the same request, and the steps of an agent share it.
 */
export function offeredTools(request: TurnRequest): readonly OfferedTool[] {
  const { input, tools, toolChoice } = request;
  if (tools.length === 0 && textOnly.of(input)) return none;
  const brought = hasItemTools(input);
  if (tools.length === 0 && !brought) return none;
  const source = brought || typeof toolChoice === "object" ? request : tools;
  let offered = known.get(source);
  if (offered === undefined) known.set(source, (offered = collect(request)));
  return offered;
}

function collect(request: TurnRequest): readonly OfferedTool[] {
  const allowed = allowedBy(request.toolChoice);
  return [
    ...request.tools.flatMap((tool, index) => membersOf(tool, `tools.${index}`, allowed)),
    ...request.input.flatMap((item, position) =>
      mayBringTools(item)
        ? objects(item.tools).flatMap((tool, index) =>
            membersOf(parseTool(tool), `input.${position}.tools.${index}`, allowed),
          )
        : none,
    ),
  ];
}

/** The tools the choice allows; a choice of a namespace allows only its members. */
function allowedBy(choice: ToolChoice | undefined): readonly ToolReference[] | undefined {
  if (typeof choice !== "object") return undefined;
  if (choice.type === "allowed_tools") return choice.tools;
  return choice.tool.type === "namespace" ? [choice.tool] : undefined;
}

function membersOf(tool: Tool, path: string, allowed: readonly ToolReference[] | undefined): readonly OfferedTool[] {
  const isAllowed = (member: OfferedTool["tool"], namespace?: string) =>
    allowed === undefined || allowed.some((reference) => refersTo(reference, member, namespace));
  if (tool.type === "hosted" && tool.leftOut) return [];
  if (tool.type !== "namespace") return [{ path, tool, allowed: isAllowed(tool) }];
  const { name, description } = tool;
  return tool.tools.map((member, index) => ({
    path: `${path}.tools.${index}`,
    tool: member,
    namespace: { name, description },
    allowed: isAllowed(member, name),
  }));
}

/** A reference without a namespace matches the tool in any namespace; a reference to a namespace matches all of its members. */
export function refersTo(reference: ToolReference, tool: OfferedTool["tool"], namespace?: string): boolean {
  if (reference.type === "namespace") return namespace !== undefined && reference.name === namespace;
  if (tool.type === "hosted") return reference.type === tool.kind || reference.type === tool.spelling;
  const inside = reference.namespace === undefined || reference.namespace === null || reference.namespace === namespace;
  return reference.type === tool.type && reference.name === tool.name && inside;
}

/** Whether a tool is a search among deferred tools, which is useless if all tools are sent at once. */
export const isToolSearch = (tool: OfferedTool["tool"]): boolean =>
  tool.type === "hosted" && /^(service:)?tool_search$/.test(tool.kind);

/** Whether a type means web search, under any name clients use. */
export const isWebSearch = (type: string): boolean => /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/.test(type);

/** The first tool that neither the client nor the model's format runs. */
export const findHostedTool = (request: TurnRequest): (OfferedTool & { readonly tool: HostedTool }) | undefined =>
  offeredTools(request).find(
    (entry): entry is OfferedTool & { readonly tool: HostedTool } =>
      entry.tool.type === "hosted" && entry.allowed && !isToolSearch(entry.tool),
  );

/** Parses a tool of an input item. */
function parseTool(value: JsonObject): Tool {
  const json = JSON.stringify(value);
  const name = text(value.name);
  const description = typeof value.description === "string" ? { description: value.description } : {};
  const later = value.async === true ? { async: true } : {};
  switch (value.type) {
    case "function": {
      const strict = typeof value.strict === "boolean" ? { strict: value.strict } : {};
      const deferred = value.defer_loading === true ? { deferLoading: true } : {};
      const parametersJson = JSON.stringify(value.parameters ?? null);
      const typed = isObject(value.anthropic_tool) ? { anthropicJson: JSON.stringify(value.anthropic_tool) } : {};
      return {
        type: "function",
        name,
        parametersJson,
        json,
        ...description,
        ...strict,
        ...later,
        ...deferred,
        ...typed,
      };
    }
    case "custom": {
      const format = value.format === undefined ? {} : { formatJson: JSON.stringify(value.format) };
      return { type: "custom", name, json, ...description, ...format, ...later };
    }
    case "namespace": {
      const tools = objects(value.tools).map(parseTool);
      const members = tools.filter((tool) => tool.type === "function" || tool.type === "custom");
      return { type: "namespace", name, description: text(value.description), tools: members, json };
    }
    default:
      return { type: "hosted", kind: text(value.type), spelling: text(value.type), json };
  }
}
