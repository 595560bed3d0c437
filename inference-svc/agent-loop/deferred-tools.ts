/** Client tools with `defer_loading`: hidden from the model until a search finds them. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { withMembers } from "@sluice/proto/lib/json/span.js";
import type { CallableTool, InputItem, NamespaceTool, Tool, ToolReference, TurnRequest } from "../turn/request.ts";
import { isToolsItem } from "../turn/item-kinds.ts";

export interface DeferredTool {
  readonly tool: CallableTool;
  readonly namespace?: NamespaceTool;
  /** The tool comes from an `additional_tools` item, which already shows it to the model. */
  readonly brought?: true;
}

export function findDeferredTools({ tools, input }: TurnRequest): readonly DeferredTool[] {
  const brought = new Set(input.filter(isToolsItem).flatMap((item) => namesOf(item["tools"])));
  return tools.flatMap((tool): DeferredTool[] => {
    if (tool.type === "hosted") return [];
    if (tool.type === "namespace")
      return tool.tools.filter(isHeldBack).map((inner) => ({ tool: inner, namespace: tool }));
    return isHeldBack(tool) ? [{ tool, ...(brought.has(tool.name) && { brought: true as const }) }] : [];
  });
}

const namesOf = (tools: unknown): unknown[] =>
  Array.isArray(tools) ? tools.filter(isObject).map((tool) => tool["name"]) : [];

/** Searches the tool's JSON text before parsing it: hardly any tool has the field. */
const isHeldBack = ({ json }: CallableTool): boolean =>
  json.includes('"defer_loading"') && (JSON.parse(json) as JsonObject)["defer_loading"] === true;

/** The deferred tools already called in the conversation. */
export const findEarlierCalledTools = (
  held: readonly DeferredTool[],
  input: readonly InputItem[],
): readonly CallableTool[] => {
  const called = new Set(input.flatMap((item) => (isCall(item) ? [keyOf(item["name"], item["namespace"])] : [])));
  return held.flatMap(({ tool, namespace, brought }) =>
    !brought && called.has(keyOf(tool.name, namespace?.name)) ? [tool] : [],
  );
};

const isCall = ({ type }: InputItem): boolean => type === "function_call" || type === "custom_tool_call";
const keyOf = (name: unknown, namespace: unknown): string => JSON.stringify([name, namespace ?? null]);

/** The tools without those still deferred. Found tools come last, to keep the beginning of the request in a provider's prompt cache. */
export function loadedTools(
  tools: readonly Tool[],
  held: readonly DeferredTool[],
  loaded: readonly CallableTool[],
): readonly Tool[] {
  const hidden = new Set(held.map(({ tool }) => tool));
  const first = tools.flatMap((tool): Tool[] => {
    if (tool.type === "hosted") return [tool];
    if (tool.type !== "namespace") return hidden.has(tool) ? [] : [tool];
    // A namespace without tools is not sent.
    const inner = tool.tools.filter((each) => !hidden.has(each) || loaded.includes(each)).map(withoutDeferral);
    return inner.length > 0 ? [{ ...tool, tools: inner }] : [];
  });
  const found = loaded.filter((tool) => held.some((each) => each.tool === tool && each.namespace === undefined));
  return [...first, ...found.map(withoutDeferral)];
}

/**
 * The tools a tool choice may name in this request: providers reject a choice of tools missing from the request.
 * @param tools the tools sent
 */
export const choosableTools = (
  references: readonly ToolReference[],
  held: readonly DeferredTool[],
  tools: readonly Tool[],
): readonly ToolReference[] => {
  const hidden = held.map(({ tool, namespace }) => namespace ?? tool);
  return references.filter((each) => !isAmong(each, hidden) || isAmong(each, tools));
};

function isAmong({ type, name, namespace }: ToolReference, tools: readonly Tool[]): boolean {
  const isMeant = (tool: CallableTool | NamespaceTool) => tool.type === type && tool.name === name;
  return tools.some((tool) => {
    if (tool.type === "hosted") return false;
    if (isMeant(tool)) return true;
    return tool.type === "namespace" && (namespace ?? tool.name) === tool.name && tool.tools.some(isMeant);
  });
}

/** Removes the field `defer_loading` from a tool. */
export function withoutDeferral<T extends CallableTool>(tool: T): T {
  if (!isHeldBack(tool)) return tool;
  const { deferLoading: _, ...rest } = tool as T & { readonly deferLoading?: boolean };
  return { ...rest, json: withMembers(tool.json, { defer_loading: undefined }) } as T;
}

/** The searchable fields of a tool. */
export function searchableFieldsOf({ tool, namespace }: DeferredTool): {
  readonly args: readonly string[];
  readonly texts: readonly string[];
} {
  const parameters: unknown = tool.type === "function" ? JSON.parse(tool.parametersJson) : undefined;
  const properties = isObject(parameters) && isObject(parameters["properties"]) ? parameters["properties"] : {};
  const texts = Object.values(properties).flatMap((value) =>
    isObject(value) && typeof value["description"] === "string" ? [value["description"]] : [],
  );
  return { args: Object.keys(properties), texts: [...(namespace ? [namespace.description] : []), ...texts] };
}
