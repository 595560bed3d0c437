/** Kinds of input items that belong to the agent loop. */
import type { InputItem, TurnRequest } from "./request.ts";
import { hasUnknownItem } from "./parse/beginnings.ts";

export const isServerItem = ({ type }: InputItem): boolean => type.startsWith("service:");

export const isToolsItem = ({ type }: InputItem): boolean => type === "additional_tools";

/** Whether any tool of the request, or any item in its history, may belong to Sluice. */
export const mayUseTools = ({ tools, input }: TurnRequest): boolean =>
  tools.some(({ type }) => type === "hosted") ||
  hasUnknownItem(input, (item) => isServerItem(item) || isToolsItem(item));
