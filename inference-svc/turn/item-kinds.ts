/** Kinds of input items that belong to the agent loop. */
import type { InputItem, TurnRequest } from "./request.ts";
import { hasUnknownItem } from "./parse/beginnings.ts";

export const isServerItem = ({ type }: InputItem): boolean => type.startsWith("service:");

export const isToolsItem = ({ type }: InputItem): boolean => type === "additional_tools";

/** Whether the request has a tool that is neither a function nor custom. */
export const hasHostedTools = ({ tools }: TurnRequest): boolean => tools.some(({ type }) => type === "hosted");

/** Whether any tool of the request, or any item in its history, may belong to Sluice. */
export const mayUseTools = (request: TurnRequest): boolean =>
  hasHostedTools(request) || hasUnknownItem(request.input, (item) => isServerItem(item) || isToolsItem(item));
