/** Kinds of input items and tools that concern the agent loop. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem, TurnRequest } from "./request.ts";
import { hasUnknownItem } from "./parse/beginnings.ts";

export const isServerItem = ({ type }: InputItem): boolean => type.startsWith("service:");

export const isToolsItem = ({ type }: InputItem): boolean => type === "additional_tools";

/** Types of tools every provider takes and no provider runs. */
const clientTypes: ReadonlySet<unknown> = new Set(["function", "custom", "namespace"]);

/** Whether a tool of this type is neither a function nor custom, so Sluice or a provider may run it. */
export const isHostedType = (type: unknown): boolean => !clientTypes.has(type);

/** Whether the item contains a tool that is neither a function nor custom; results of the client's own search may contain one as well. */
export const bringsHostedTools = ({ type, tools }: InputItem): boolean =>
  (type === "additional_tools" || type === "tool_search_output") &&
  Array.isArray(tools) &&
  tools.some((tool: unknown) => isObject(tool) && isHostedType(tool["type"]));

/** Whether the request has a tool that is neither a function nor custom. */
export const hasHostedTools = ({ tools }: TurnRequest): boolean => tools.some(({ type }) => type === "hosted");

/** Whether any tool of the request, or any item in its history, may belong to Sluice. */
export const mayUseTools = (request: TurnRequest): boolean =>
  hasHostedTools(request) ||
  hasUnknownItem(request.input, (item) => isServerItem(item) || isToolsItem(item) || bringsHostedTools(item));
