/** Hosted tools from `additional_tools` and `tool_search_output` items that no provider of the models runs. They join the request's tools: Sluice runs them, or sends functions instead. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { hasUnknownItem } from "../turn/parse/beginnings.ts";
import type { HostedTool, InputItem, TurnRequest } from "../turn/request.ts";
import { bringsHostedTools, isHostedType } from "../turn/item-kinds.ts";

/** @param joins whether a tool is added to the request's tools; the others stay in their item */
export function withItemTools(request: TurnRequest, joins: (tool: HostedTool) => boolean): TurnRequest {
  if (!hasUnknownItem(request.input, bringsHostedTools)) return request;
  const addedTools: HostedTool[] = [];
  const input = request.input.map((item, position): InputItem => {
    const { tools } = item;
    if (!bringsHostedTools(item) || !Array.isArray(tools)) return item;
    const staying = tools.filter((tool, index) => {
      const brought = readHostedTool(tool, `input.${position}.tools.${index}`);
      if (brought === undefined || !joins(brought)) return true;
      addedTools.push(brought);
      return false;
    });
    return staying.length === tools.length ? item : { ...item, tools: staying };
  });
  return addedTools.length === 0 ? request : { ...request, tools: [...request.tools, ...addedTools], input };
}

/** @returns undefined for tools of the client */
function readHostedTool(tool: unknown, path: string): HostedTool | undefined {
  if (!isObject(tool) || typeof tool["type"] !== "string") return undefined;
  const { type } = tool;
  if (!isHostedType(type)) return undefined;
  return { type: "hosted", kind: type, spelling: type, json: JSON.stringify(tool), path };
}
