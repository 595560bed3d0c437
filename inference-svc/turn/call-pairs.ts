/** Pairs calls with their outputs. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

/** Types of output items, each with the type of the call to which it belongs. */
export const callTypeByOutput: ReadonlyMap<string, string> = new Map([
  ["function_call_output", "function_call"],
  ["custom_tool_call_output", "custom_tool_call"],
  ["apply_patch_call_output", "apply_patch_call"],
  ["local_shell_call_output", "local_shell_call"],
  ["shell_call_output", "shell_call"],
  ["computer_call_output", "computer_call"],
  ["tool_search_output", "tool_search_call"],
  ["mcp_approval_response", "mcp_approval_request"],
]);

/** Name of the field in which an output has the id of its call. @param type type of the output */
export const callIdField = (type: string): string =>
  type === "mcp_approval_response" ? "approval_request_id" : type === "local_shell_call_output" ? "id" : "call_id";

/** The ids by which an output can refer to this call. */
export const callIds = ({ type, id, call_id: callId }: JsonObject): readonly unknown[] =>
  type === "mcp_approval_request" || type === "local_shell_call" ? [id, callId] : [callId];

/** The types and ids by which outputs can refer to a call. Codex answers a local shell call with a function_call_output. */
export const callNames = (item: JsonObject): readonly (readonly [kind: string, id: unknown])[] => {
  const kind = item["type"] as string;
  const names = callIds(item).map((id) => [kind, id] as const);
  return kind === "local_shell_call" ? [...names, ["function_call", item["call_id"]]] : names;
};
